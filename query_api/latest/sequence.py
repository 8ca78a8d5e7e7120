"""Reads the sequence of events and the thin rows up to it, in one statement."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError

from hive.reader import notification_log
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
    """Rows from the requested event on, ascending; the newest ones if there are too many."""


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
                # Compiling it for each read would take as long as the database takes to run it.
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
    [current] = [notification_log.last_event(row[0]) for row in rows if row[1] is None]
    thin = [
        ThinRow(event, time, kind, catalog, db, table, message or "", form)
        for _, event, time, kind, catalog, db, table, message, form in rows
        if event is not None and event <= current
    ]
    thin.sort(key=lambda row: row.event_id)
    return Tail(current, thin)


def _statement(tables: sa.MetaData) -> sa.CompoundSelect[Any]:
    return notification_log.tail(tables, ROWS_MAX, WITH_MESSAGE)
