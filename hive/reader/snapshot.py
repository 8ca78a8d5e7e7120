"""One moment of the metastore's database, and the event that it is complete up to.

The metastore writes an object and the event about it in one database transaction. So a transaction
that sees one moment of all tables, the sequence of events among them, holds exactly the effects of
the events up to the last one in that sequence.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

from sqlalchemy import (
    BigInteger,
    Connection,
    CursorResult,
    Dialect,
    Engine,
    Executable,
    MetaData,
    Select,
    Table,
    func,
    literal_column,
    select,
)

from hive.reader.cursors import FETCHED_ROWS
from hive.reader.notification_log import last_event
from hive.reader.sessions import REPEATABLE_READ
from hive.schema import Version, metadata

_NOW_MS = {
    "postgresql": "CAST(EXTRACT(EPOCH FROM CURRENT_TIMESTAMP) * 1000 AS BIGINT)",
    "mysql": "CAST(UNIX_TIMESTAMP(NOW(3)) * 1000 AS SIGNED)",
}
"""The time at which the transaction or its first statement began, so never after its moment."""

Row = tuple[Any, ...]
Parameters = Mapping[str, object]


class DatabaseSnapshot:
    """A transaction in REPEATABLE READ that belongs to its caller; use it in one thread."""

    def __init__(
        self, connection: Connection, version: Version, now_ms: int, following: int | None
    ) -> None:
        self._connection = connection
        self.version = version
        self.metadata: MetaData = metadata(version)
        self.position = last_event(following)
        """The last event whose effects the snapshot sees."""
        self.now_ms = now_ms
        """The database's time, a little before the snapshot's moment at the latest."""
        self._streamed: CursorResult[Any] | None = None

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
        assert self._streamed is None, "a long answer hasn't ended"
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
        assert self._streamed is None, "a long answer hasn't ended"
        options = {"yield_per": FETCHED_ROWS}
        with self._connection.execute(statement, parameters, execution_options=options) as result:
            self._streamed = result
            try:
                for rows in result.partitions() if result.returns_rows else ():
                    yield [tuple(row) for row in rows]
            finally:
                self._streamed = None

    def close(self) -> None:
        """Gives up a long answer of which not all rows were taken."""
        if self._streamed is not None:
            self._streamed.close()


@contextmanager
def open_snapshot(
    engine: Engine, version: Version, exported: str | None = None
) -> Iterator[DatabaseSnapshot]:
    """A snapshot in a read-only transaction of its own. Raises SourceError if the database has no
    sequence of events, as while it is restored.

    If `exported` names a snapshot, the new one sees the same moment.
    """
    with engine.connect() as connection:
        # The first statement fixes the moment.
        if engine.dialect.name == "postgresql":
            moment = _begin(connection, version, exported)
        else:
            moment = _first(connection, version)
        snapshot = DatabaseSnapshot(connection, version, *moment)
        try:
            yield snapshot
        finally:
            # The transaction can't end before the rows have.
            snapshot.close()


def _begin(connection: Connection, version: Version, exported: str | None) -> Row:
    """Begins a transaction of PostgreSQL in one round trip with its first statement."""
    # The driver would begin the transaction by itself, and wait.
    connection = connection.execution_options(isolation_level="AUTOCOMMIT", no_parameters=True)
    commands = [f"BEGIN ISOLATION LEVEL {REPEATABLE_READ} READ ONLY"]
    if exported is not None:
        assert "'" not in exported
        commands.append(f"SET TRANSACTION SNAPSHOT '{exported}'")
    commands.append(_moment_text(version, connection.dialect))
    [row] = connection.exec_driver_sql("; ".join(commands)).all()
    return tuple(row)


def _first(connection: Connection, version: Version) -> Row:
    """Runs the first statement of a transaction that begins with it."""
    if connection.default_isolation_level != REPEATABLE_READ:
        connection = connection.execution_options(isolation_level=REPEATABLE_READ)
    [row] = connection.execute(_moment(version, connection.dialect.name)).all()
    return tuple(row)


@cache
def _moment(version: Version, dialect: str) -> Select[Any]:
    """The database's time, and the id of the event that will follow."""
    sequence = metadata(version).tables["NOTIFICATION_SEQUENCE"].c.NEXT_EVENT_ID
    now = literal_column(_NOW_MS[dialect], BigInteger)
    return select(now, select(func.max(sequence)).scalar_subquery())


@cache
def _moment_text(version: Version, dialect: Dialect) -> str:
    literal = {"literal_binds": True}
    return str(_moment(version, dialect.name).compile(dialect=dialect, compile_kwargs=literal))
