"""Where events come from, whatever holds them."""

from collections.abc import Iterable
from hashlib import blake2b
from typing import NamedTuple, Protocol

from hive.events.row import NotificationRow

HASHED_CHARS_MAX = 8192
"""How much of a message is hashed: a source reads that much of one row again and again."""


class Poll(NamedTuple):
    """What one statement saw of the log."""

    current: int
    """The id of the last event that was written, still there or not."""
    checked: bytes | None
    """The hash of the row that was to be checked; None where it is gone."""
    rows: list[NotificationRow]
    """Rows after the position, in order; of one id there may be several."""


class Bounds(NamedTuple):
    """Which events the log still has."""

    oldest: int | None
    next: int | None
    """The first one after the position that was asked about."""
    current: int


class OpenTxns(NamedTuple):
    """The transactions that the metastore holds open as of an event."""

    at: int
    txns: tuple[int, ...]
    logged: frozenset[int]
    """Those of them that a transactional listener logs: not the read-only ones."""


class Source(Protocol):
    """A notification log. Each call sees one state of it, all that was committed before the call.

    A failure that may pass raises SourceError; the next call tries anew.
    """

    def poll(self, after: int, check: int) -> Poll:
        """The next rows after an event, as many as are good to take at once; and row `check`."""

    def bounds(self, after: int) -> Bounds: ...

    def alters(self, upto: int) -> list[NotificationRow]:
        """The last rows of ALTER_TABLE up to an event, in order: those among so many events as
        may follow a rename and name the table as it was called before."""

    def open_transactions(self) -> OpenTxns: ...

    def close(self) -> None: ...


def rows_hash(rows: Iterable[NotificationRow]) -> bytes:
    """Tells the row of an event id, or the several rows of one, from others."""
    return fields_hash((row, len(row.message)) for row in rows)


def fields_hash(rows: Iterable[tuple[NotificationRow, int]]) -> bytes:
    """The same, of rows whose messages may be cut; beside each the length of its whole message."""
    found = blake2b(digest_size=8)
    for row, message_chars in rows:
        fields = (
            row.event_id,
            row.event_time,
            row.event_type,
            row.cat_name,
            row.db_name,
            row.tbl_name,
            row.message_format,
            message_chars,
        )
        found.update(repr(fields).encode("utf-8", "surrogatepass"))
        found.update(row.message[:HASHED_CHARS_MAX].encode("utf-8", "surrogatepass"))
    return found.digest()
