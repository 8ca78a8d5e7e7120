"""The value of one object: the event that it reflects, then its bytes."""

from enum import IntEnum
from struct import Struct
from typing import Final, NamedTuple

_HEADER = Struct(">BQqI")
HEADER_SIZE = _HEADER.size


class Mark(IntEnum):
    """What an entry says of its object."""

    LIVE = 0
    TOMBSTONE = 1
    """It is gone; kept while a load is open that may still bring an older state of it."""
    ORDERED = 2
    """It is there, and its last writer held its row in the database: another one that takes the
    row's lock before it reads has seen this state."""


_TOMBSTONE: Final = Mark.TOMBSTONE.value


class Entry(NamedTuple):
    """An object as of one event."""

    event: int
    data: bytes
    write_id: int = 0
    """The write id that it was written at, or that statistics were computed at; 0: none."""
    hash: int = 0
    """Of a partition's columns."""
    mark: Mark = Mark.LIVE


def encode(
    event: int, data: bytes, write_id: int = 0, columns_hash: int = 0, mark: Mark = Mark.LIVE
) -> bytes:
    """A live entry's value."""
    return _HEADER.pack(mark, event, write_id, columns_hash) + data


def marked(value: bytes, mark: Mark) -> bytes:
    """The same value under another mark."""
    return bytes((mark,)) + value[1:]


def tombstone(event: int) -> bytes:
    """The value of an entry that was deleted."""
    return _HEADER.pack(Mark.TOMBSTONE, event, 0, 0)


def decode(value: bytes) -> Entry:
    """Reads an entry's value."""
    mark, event, write_id, columns_hash = _HEADER.unpack_from(value)
    return Entry(event, value[HEADER_SIZE:], write_id, columns_hash, Mark(mark))


def event_of(value: bytes) -> int:
    """The event that a value reflects, without copying its bytes."""
    return int.from_bytes(value[1:9])


def write_id_of(value: bytes) -> int:
    return int.from_bytes(value[9:17], signed=True)


def hash_of(value: bytes) -> int:
    return int.from_bytes(value[17:21])


def is_live(value: bytes) -> bool:
    return value[0] != _TOMBSTONE


def is_ordered(value: bytes) -> bool:
    """Whether the last writer of an entry held its row."""
    return value[0] == Mark.ORDERED


def data_of(value: bytes) -> bytes:
    """The object's bytes."""
    return value[HEADER_SIZE:]
