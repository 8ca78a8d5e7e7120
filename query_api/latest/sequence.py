"""The sequence of events and the thin rows up to it, in one statement."""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import sqlalchemy as sa

from hive.reader import notification_log
from hive.reader.snapshot import DatabaseSnapshot
from query_api.latest.log_end import ROWS_MAX, ThinRow
from query_api.latest.row_effects import WITH_MESSAGE

SHORT_ROWS_MAX: Final = 32


class Tail(NamedTuple):
    """The end of the log."""

    current: int
    rows: list[ThinRow]
    """Rows from the requested event on, ascending; the newest ones if there are too many."""


def read_tail(snapshot: DatabaseSnapshot, first: int) -> Tail:
    """The end of the log as of another read's moment, with all messages that contain names."""
    statement = tail_statement(snapshot.metadata)
    return tail_of(snapshot.rows(statement, {"first": first, "messages_after": first - 1}))


def tail_of(rows: Sequence[Any]) -> Tail:
    """The end of the log from the rows of a tail statement."""
    [current] = [notification_log.last_event(row[0]) for row in rows if row[1] is None]
    thin = [
        ThinRow(event, time, kind, catalog, db, table, message or "", form)
        for _, event, time, kind, catalog, db, table, message, form in rows
        if event is not None and event <= current
    ]
    thin.sort(key=lambda row: row.event_id)
    return Tail(current, thin)


def tail_statement(tables: sa.MetaData, rows_max: int = ROWS_MAX) -> sa.CompoundSelect[Any]:
    return notification_log.tail(tables, rows_max, WITH_MESSAGE)
