"""The outcome of a method, and the result struct around it."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from struct import Struct as Packing
from typing import Any, Final, NamedTuple

from hive.names import TableName
from hive.thrift.types import STRING, STRUCT
from query_api.reads.read import Read
from query_api.thrift.call import RelayReason, Result


class Raised(NamedTuple):
    """An exception of the interface."""

    kind: str
    message: str


def table_not_found(table: TableName) -> Raised:
    return Raised("NoSuchObjectException", f"{table} table not found")


class Items(NamedTuple):
    """A long list of structs, each made when it is written."""

    length: int
    structs: Iterable[bytes]


class Nothing(NamedTuple):
    """No result at all, as the metastore returns in some cases."""


Payload = bytes | Items | Nothing
Outcome = Payload | Raised | RelayReason | Read[Any]
"""A read as an outcome is the one to answer next. The bytes of a list begin with the type and
number of its items."""


class Shape(NamedTuple):
    """The bytes around the payload of a result."""

    before: bytes
    after: bytes


I32: Final = Shape(b"\x08\0\0", b"\0")
STRUCT_ALONE: Final = Shape(b"\x0c\0\0", b"\0")
LIST: Final = Shape(b"\x0f\0\0", b"\0")
STRUCT_IN: Final = Shape(b"\x0c\0\0\x0c\0\1", b"\0\0")
"""In this and the next shapes, the payload is the first field of the answer's struct."""
LIST_IN: Final = Shape(b"\x0c\0\0\x0f\0\1", b"\0\0")
MAP_IN: Final = Shape(b"\x0c\0\0\x0d\0\1", b"\0\0")
BY_EXPRESSION: Final = Shape(b"\x0c\0\0\x0f\0\1", b"\x02\0\2\0\0\0")
"""A list of partitions, and a flag saying that none of them is unknown."""

_LENGTH: Final = Packing("!i").pack
_LIST: Final = Packing("!bi").pack
_RAISED: Final = Packing("!bhbhi").pack
_BLOCK_BYTES: Final = 64 * 1024


def structs(items: Sequence[bytes]) -> bytes:
    """A list of structs."""
    return _LIST(STRUCT, len(items)) + b"".join(items)


def texts(items: Iterable[str]) -> bytes:
    """A list of texts."""
    encoded = [text.encode() for text in items]
    lengths = map(_LENGTH, map(len, encoded))
    parts = chain.from_iterable(zip(lengths, encoded, strict=True))
    return _LIST(STRING, len(encoded)) + b"".join(parts)


def result(shape: Shape, exceptions: Sequence[str], outcome: Payload | Raised) -> Result:
    """The result struct; its exceptions are numbered from 1 on."""
    match outcome:
        case bytes():
            return shape.before + outcome + shape.after
        case Items():
            return _blocks(shape, outcome)
        case Raised():
            id_ = exceptions.index(outcome.kind) + 1
            text = outcome.message.encode()
            return _RAISED(STRUCT, id_, STRING, 1, len(text)) + text + b"\0\0"
    return b"\0"


def _blocks(shape: Shape, payload: Items) -> Iterator[bytes]:
    block = [shape.before, _LIST(STRUCT, payload.length)]
    size = count = 0
    for item in payload.structs:
        block.append(item)
        count += 1
        size += len(item)
        if size >= _BLOCK_BYTES:
            yield b"".join(block)
            block.clear()
            size = 0
    assert count == payload.length, f"{count} items where {payload.length} were announced"
    block.append(shape.after)
    yield b"".join(block)
