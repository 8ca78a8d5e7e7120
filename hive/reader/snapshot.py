"""One moment of the metastore's database, and the event that it is complete up to.

The metastore writes an object and the event about it in one database transaction. So a transaction
that sees one moment of all tables, the sequence of events among them, holds exactly the effects of
the events up to the last one in that sequence.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from sqlalchemy import (
    BigInteger,
    Connection,
    Engine,
    Executable,
    MetaData,
    Table,
    func,
    literal_column,
    select,
)

from hive.schema import Version, metadata

FETCHED_ROWS = 5_000
"""How many rows of a long answer are in memory at a time."""

_NOW_MS = {
    "postgresql": "CAST(EXTRACT(EPOCH FROM CURRENT_TIMESTAMP) * 1000 AS BIGINT)",
    "mysql": "CAST(UNIX_TIMESTAMP(NOW(3)) * 1000 AS SIGNED)",
}
"""The time at which the transaction or its first statement began, so never after its moment."""

Row = tuple[Any, ...]
Parameters = Mapping[str, object]


class DatabaseSnapshot:
    """A transaction in REPEATABLE READ that belongs to its caller; use it in one thread."""

    def __init__(self, connection: Connection, version: Version) -> None:
        self._connection = connection
        self.version = version
        self.metadata: MetaData = metadata(version)
        sequence = self.tables["NOTIFICATION_SEQUENCE"].c.NEXT_EVENT_ID
        now = literal_column(_NOW_MS[connection.dialect.name], BigInteger)
        # The first statement fixes the moment.
        [(now_ms, following)] = self.rows(select(now, select(sequence).limit(1).scalar_subquery()))
        self.position = 0 if following is None else int(following) - 1
        """The last event whose effects the snapshot sees."""
        self.now_ms = int(now_ms)
        """The database's time, a little before the snapshot's moment at the latest."""

    @property
    def tables(self) -> Mapping[str, Table]:
        """The tables of the schema, for conditions on them."""
        return self.metadata.tables

    def export(self) -> str | None:
        """A name by which other transactions join this moment while this one is open; None if the
        database can't export snapshots."""
        if self._connection.dialect.name != "postgresql":
            return None
        return str(self.rows(select(func.pg_export_snapshot()))[0][0])

    def rows(self, statement: Executable, parameters: Parameters | None = None) -> Sequence[Row]:
        """All rows of an answer, as plain tuples with the driver's values."""
        result = self._connection.execute(statement, parameters)
        try:
            assert result.cursor is not None
            return result.cursor.fetchall()
        finally:
            result.close()

    def stream(
        self, statement: Executable, parameters: Parameters | None = None
    ) -> Iterator[Sequence[Row]]:
        """A long answer, some rows at a time. Nothing else can be read before it ends."""
        options = {"yield_per": FETCHED_ROWS}
        with self._connection.execute(statement, parameters, execution_options=options) as result:
            for rows in result.partitions():
                yield [tuple(row) for row in rows]


@contextmanager
def open_snapshot(
    engine: Engine, version: Version, exported: str | None = None
) -> Iterator[DatabaseSnapshot]:
    """A snapshot in a read-only transaction of its own.

    If `exported` names a snapshot, the new one sees the same moment.
    """
    with engine.connect().execution_options(isolation_level="REPEATABLE READ") as connection:
        if exported is not None:
            assert "'" not in exported
            connection.exec_driver_sql(f"SET TRANSACTION SNAPSHOT '{exported}'")
        yield DatabaseSnapshot(connection, version)
