"""The last event of the log, after which an epoch begins."""

from collections.abc import Sequence
from typing import NamedTuple, Self

from connectors.source import rows_hash, rows_mark
from hive.events.row import NotificationRow


class LastEvent(NamedTuple):
    """An event, with what tells its row from another that gets its id in a restored database."""

    event_id: int
    hash: bytes | None = None
    """The hash of its row; None if the log has none."""
    mark: int = 0

    @classmethod
    def of(cls, event_id: int, rows: Sequence[NotificationRow]) -> Self:
        """The event with its rows, which are none if the log has been cleaned."""
        return cls(event_id, rows_hash(rows) if rows else None, rows_mark(rows))
