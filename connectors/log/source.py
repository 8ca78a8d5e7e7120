"""The source of events, whatever stores them."""

from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from itertools import starmap
from typing import NamedTuple, Protocol

from hive.events.column_limits import ColumnLimits
from hive.events.row import NotificationRow, row_mark

HASHED_CHARS_MAX = 8192
"""How much of a message is hashed: each poll reads this much of one row again."""


class Poll(NamedTuple):
    """The result of one statement over the log."""

    current: int
    """The id of the last event that was written, whether its row is still there or not."""
    checked: bytes | None
    """The hash of the row to check; None when it is gone."""
    rows: list[NotificationRow]
    """The rows after the position, in order; several may share an id."""
    checked_s: int | None = None
    """When the row to check was written, by its metastore's clock, the last one of several; None
    when it is gone."""


class Bounds(NamedTuple):
    """The first and last events that the log still has."""

    oldest: int | None
    next: int | None
    """The first event after the position that was asked about."""
    current: int


class OpenTxns(NamedTuple):
    """The transactions that the metastore holds open as of an event."""

    at: int
    txns: tuple[int, ...]
    logged: frozenset[int]
    """The open transactions that a transactional listener logs: all but the read-only ones."""


class Source(Protocol):
    """A notification log. Each call sees one consistent state: everything committed before it.

    A failure that may pass raises SourceError; the next call tries again.
    """

    def poll(self, after: int, check: int) -> Poll:
        """The next rows after an event, as many as make a good batch, and row `check`."""

    def rests(self, after: int, check: int) -> bool:
        """Whether a poll would most likely bring what the last one did, which was nothing new.
        Costs little, and says no from time to time, so that the log itself is looked at."""

    def hashes(self, events: Sequence[int]) -> dict[int, bytes]:
        """The hashes of the rows of these events, as far as there are any."""
        ...

    def bounds(self, after: int) -> Bounds: ...

    def older(self, event: int, written_s: int | None) -> int | None:
        """An event before this one whose row is there and was written at this time or before, or at
        any time; None if there is none."""

    def alters(self, upto: int) -> Iterator[NotificationRow]:
        """The ALTER_TABLE rows up to an event, in order, that are recent enough for events with a
        renamed table's old name to follow. Few are in memory at a time, for they may be large."""
        ...

    def open_transactions(self) -> OpenTxns: ...

    def column_limits(self) -> ColumnLimits: ...

    def close(self) -> None: ...


def rows_hash(rows: Iterable[NotificationRow]) -> bytes:
    """A hash of the row, or rows, of one event id."""
    return _digest([_hashed(row, len(row.message)) for row in rows])


def rows_mark(rows: Sequence[NotificationRow]) -> int:
    """The mark of one event id's row; 0 if there is none, or several."""
    return row_mark(rows[0]) if len(rows) == 1 else 0


def cut_rows_hash(rows: Iterable[tuple[NotificationRow, int]]) -> bytes:
    """The `rows_hash` of rows whose messages may be cut; each has its message's full length."""
    return _digest(list(starmap(_hashed, rows)))


def _digest(texts: list[bytes]) -> bytes:
    return blake2b(b"".join(texts), digest_size=8).digest()


def _hashed(row: NotificationRow, message_chars: int) -> bytes:
    # Records hold these hashes, so the text never changes: the fields as Python writes a tuple.
    text = (
        f"({row.event_id}, {row.event_time}, {row.event_type!r}, {row.cat_name!r}, "
        f"{row.db_name!r}, {row.tbl_name!r}, {row.message_format!r}, {message_chars})"
        f"{row.message[:HASHED_CHARS_MAX]}"
    )
    return text.encode("utf-8", "surrogatepass")
