"""Reads the sequence of events and the thin rows up to it, in one statement."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError

from hive.errors import SourceError
from hive.reader.sessions import KeptPlans
from hive.reader.snapshot import DatabaseSnapshot
from hive.schema import Version, metadata
from query_api.latest.latest_log import ROWS_MAX, ThinRow
from query_api.latest.row_effects import WITH_MESSAGE
from query_api.timeouts import set_timeout

TIMEOUT_MS: Final = 2_000


class Tail(NamedTuple):
    """The end of the log."""

    current: int
    rows: list[ThinRow]
    """Ascending, from the requested event on; the newest ones if there are too many."""


class SequenceReader:
    """A connection to the primary for one thread; each read is a transaction of its own."""

    def __init__(self, engine: sa.Engine, version: Callable[[], Version]) -> None:
        """`version` is called when the first read begins, and may query the database."""
        self._engine = engine
        self._version = version
        self._connection: sa.Connection | None = None

    def read(self, first: int, messages_after: int) -> Tail:
        """Reads the rows from the event `first` on, with messages only of events after
        `messages_after`."""
        try:
            if self._connection is None:
                self._connection = self._connect()
                statement = _statement(metadata(self._version()))
                # Binding it anew would take as long as the database takes to run it.
                self._compiled = statement.compile(dialect=self._engine.dialect)
                self._plans = KeptPlans(self._connection)
            self._plans.use(first)
            rows = self._run(self._connection, {"first": first, "messages_after": messages_after})
        except SQLAlchemyError:
            self.close()
            raise
        return _tail(rows)

    def _run(self, connection: sa.Connection, bounds: Mapping[str, int]) -> Sequence[Any]:
        by_name = self._compiled.construct_params(bounds)
        order = self._compiled.positiontup
        parameters = by_name if order is None else tuple(by_name[name] for name in order)
        return connection.exec_driver_sql(str(self._compiled), parameters).all()

    def close(self) -> None:
        """Closes the connection; the next read opens another."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.invalidate()
            connection.close()

    def _connect(self) -> sa.Connection:
        connection = self._engine.connect().execution_options(isolation_level="AUTOCOMMIT")
        set_timeout(connection, TIMEOUT_MS)
        return connection


def read_tail(snapshot: DatabaseSnapshot, first: int) -> Tail:
    """The end of the log as of another read's moment, with all messages that contain names."""
    statement = _statement(snapshot.metadata)
    return _tail(snapshot.rows(statement, {"first": first, "messages_after": first - 1}))


def _tail(rows: Sequence[Any]) -> Tail:
    [following] = [row[0] for row in rows if row[1] is None]
    if following is None:
        raise SourceError("NOTIFICATION_SEQUENCE has no row, so the current event is unknown")
    thin = [
        ThinRow(event, time, kind, catalog, db, table, message or "", form)
        for _, event, time, kind, catalog, db, table, message, form in rows
        if event is not None and event < following
    ]
    thin.sort(key=lambda row: row.event_id)
    return Tail(following - 1, thin)


def _statement(tables: sa.MetaData) -> sa.CompoundSelect[Any]:
    """The next event id in a row of its own, and the newest rows of the log.

    The limit is part of the text, so that the planner always takes the index.
    """
    log = tables.tables["NOTIFICATION_LOG"].c
    first, messages_after = (
        sa.bindparam("first", type_=sa.BigInteger),
        sa.bindparam("messages_after", type_=sa.BigInteger),
    )
    # Not IN: SQLAlchemy would write such a statement anew for each read.
    tells_names = sa.or_(*(log.EVENT_TYPE == event_type for event_type in WITH_MESSAGE))
    columns = (
        *(log.EVENT_ID, log.EVENT_TIME, log.EVENT_TYPE, log.CAT_NAME, log.DB_NAME, log.TBL_NAME),
        sa.case((sa.and_(tells_names, log.EVENT_ID > messages_after), log.MESSAGE)).label(
            "MESSAGE"
        ),
        log.MESSAGE_FORMAT,
    )
    newest = (
        sa.select(*columns)
        .where(log.EVENT_ID >= first)
        .order_by(log.EVENT_ID.desc())
        .limit(sa.literal_column(str(ROWS_MAX + 1)))
        .subquery()
    )
    following = sa.func.max(tables.tables["NOTIFICATION_SEQUENCE"].c.NEXT_EVENT_ID)
    return sa.union_all(
        sa.select(following, *[sa.null()] * len(columns)), sa.select(sa.null(), newest)
    )
