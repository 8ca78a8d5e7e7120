"""The statement that reads the sequence of events, and the thin rows up to it."""

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError

from hive.errors import SourceError
from hive.reader.snapshot import Snapshot
from hive.schema import Version, metadata
from query_api.latest.log import ROWS_MAX, ThinRow
from query_api.latest.touched import WITH_MESSAGE
from query_api.timeouts import set_timeout

TIMEOUT_MS: Final = 2_000


class Tail(NamedTuple):
    """The end of the log."""

    current: int
    rows: list[ThinRow]
    """Ascending, from the event that was asked for on; the newest where there are too many."""


class SequenceReader:
    """One connection to the primary, for one thread; each read is a transaction of its own."""

    def __init__(self, engine: sa.Engine, version: Callable[[], Version]) -> None:
        """`version` may look it up in the database, and is asked when the first read begins."""
        self._engine = engine
        self._version = version
        self._connection: sa.Connection | None = None

    def read(self, first: int, known: int) -> Tail:
        """Rows from the event `first` on; messages only of events after `known`."""
        try:
            if self._connection is None:
                self._connection = self._connect()
                self._statement = _statement(metadata(self._version()))
            found = self._connection.execute(self._statement, {"first": first, "known": known})
            rows = found.all()
        except SQLAlchemyError:
            self.close()
            raise
        return _tail(rows)

    def close(self) -> None:
        """Ends the connection; the next read makes another."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.invalidate()
            connection.close()

    def _connect(self) -> sa.Connection:
        connection = self._engine.connect().execution_options(isolation_level="AUTOCOMMIT")
        set_timeout(connection, TIMEOUT_MS)
        if connection.dialect.name == "postgresql":
            # Rows are found by the index; of a young table the planner knows too little to see it.
            connection.exec_driver_sql("SET enable_seqscan = off")
        return connection


def read_tail(snapshot: Snapshot, first: int) -> Tail:
    """The end of the log as of another read's moment, with all messages that tell names."""
    statement = _statement(snapshot.metadata)
    return _tail(snapshot.rows(statement, {"first": first, "known": first - 1}))


def _tail(rows: Sequence[Any]) -> Tail:
    if not rows:
        raise SourceError("NOTIFICATION_SEQUENCE has no row, so nobody knows the current event")
    current = rows[0][0] - 1
    thin = [
        ThinRow(event, time, kind, catalog, db, table, message or "", form)
        for _, event, time, kind, catalog, db, table, message, form in rows
        if event is not None and event <= current
    ]
    return Tail(current, thin)


def _statement(tables: sa.MetaData) -> sa.Select[Any]:
    log, sequence = tables.tables["NOTIFICATION_LOG"], tables.tables["NOTIFICATION_SEQUENCE"]
    first, known = (
        sa.bindparam("first", type_=sa.BigInteger),
        sa.bindparam("known", type_=sa.BigInteger),
    )
    # Not IN: SQLAlchemy would write such a statement anew for each read.
    tells_names = sa.or_(*(log.c.EVENT_TYPE == one for one in WITH_MESSAGE))
    wanted = sa.and_(tells_names, log.c.EVENT_ID > known)
    following = sequence.c.NEXT_EVENT_ID
    return (
        sa.select(
            *(following, log.c.EVENT_ID, log.c.EVENT_TIME, log.c.EVENT_TYPE, log.c.CAT_NAME),
            *(log.c.DB_NAME, log.c.TBL_NAME, sa.case((wanted, log.c.MESSAGE))),
            log.c.MESSAGE_FORMAT,
        )
        .outerjoin_from(
            sequence,
            log,
            sa.and_(log.c.EVENT_ID >= first, log.c.EVENT_ID > following - 2 - ROWS_MAX),
        )
        .order_by(log.c.EVENT_ID)
    )
