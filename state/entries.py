"""The value of one object: the event that it reflects, then its bytes."""

from enum import IntEnum
from struct import Struct
from typing import Final, NamedTuple

_HEADER = Struct(">BQqI")
HEADER_SIZE = _HEADER.size


class Mark(IntEnum):
    """The kind of an entry."""

    LIVE = 0
    TOMBSTONE = 1
    """The object is gone; the entry stays while an open load may still bring an older state."""
    ORDERED = 2
    """The object exists, and its last writer had locked its row in the database: another writer
    that locks the row before it reads has seen this state."""


_TOMBSTONE: Final = Mark.TOMBSTONE.value
_MARKS: Final = tuple(Mark)


class Entry(NamedTuple):
    """An object as of one event."""

    event: int
    data: bytes
    write_id: int = 0
    """The write id of a table's writer, the stored one of a partition, or that of the computation
    of statistics; 0 or less for none."""
    hash: int = 0
    """A hash of a partition's columns."""
    mark: Mark = Mark.LIVE


def encode(
    event: int, data: bytes, write_id: int = 0, columns_hash: int = 0, mark: Mark = Mark.LIVE
) -> bytes:
    """The value of a live entry."""
    return _HEADER.pack(mark, event, write_id, columns_hash) + data


def marked(value: bytes, mark: Mark) -> bytes:
    """A value with another mark."""
    return bytes((mark,)) + value[1:]


def tombstone(event: int) -> bytes:
    """The value of a deleted entry."""
    return _HEADER.pack(Mark.TOMBSTONE, event, 0, 0)


def decode(value: bytes) -> Entry:
    mark, event, write_id, columns_hash = _HEADER.unpack_from(value)
    return Entry(event, value[HEADER_SIZE:], write_id, columns_hash, _MARKS[mark])


def event_of(value: bytes) -> int:
    """The event that a value reflects, without copying its bytes."""
    return int.from_bytes(value[1:9])


def hash_of(value: bytes) -> int:
    return int.from_bytes(value[17:21])


def is_live(value: bytes) -> bool:
    return value[0] != _TOMBSTONE


def live(value: bytes | None) -> bytes | None:
    """The value of an object that exists; None for a missing entry and for a tombstone."""
    return value if value is not None and value[0] != _TOMBSTONE else None


def is_ordered(value: bytes) -> bool:
    """Whether the last writer of an entry had locked its row."""
    return value[0] == Mark.ORDERED


def data_of(value: bytes) -> bytes:
    """The bytes of the object."""
    return value[HEADER_SIZE:]
