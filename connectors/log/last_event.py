"""The last event of the log, after which an epoch begins."""

from collections.abc import Sequence
from typing import NamedTuple, Self

from connectors.log.source import HASHED_CHARS_MAX, cut_rows_hash, rows_mark
from hive.events.row import NotificationRow
from hive.reader import notification_log
from hive.reader.snapshot import DatabaseSnapshot


class LastEvent(NamedTuple):
    """An event, with what tells its row from another that gets its id in a restored database."""

    event_id: int
    hash: bytes | None = None
    """The hash of its row; None if the log has none."""
    mark: int = 0

    @classmethod
    def of(cls, event_id: int, rows: Sequence[tuple[NotificationRow, int]]) -> Self:
        """The event with its rows, which are none if the log has been cleaned. Their messages may
        be cut; each comes with its message's full length."""
        row_hash = cut_rows_hash(rows) if rows else None
        return cls(event_id, row_hash, rows_mark([row for row, _ in rows]))


def read_last_event(snapshot: DatabaseSnapshot) -> LastEvent:
    """The last event that a snapshot sees."""
    return read_event(snapshot, snapshot.position)


def read_event(snapshot: DatabaseSnapshot, event: int) -> LastEvent:
    """An event that was the last one of another snapshot, as this one sees it."""
    statement = notification_log.checked(snapshot.metadata, HASHED_CHARS_MAX)
    rows = snapshot.rows(statement, {"events": [event]})
    return LastEvent.of(event, list(map(notification_log.checked_row, rows)))
