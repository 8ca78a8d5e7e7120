"""The bytes of TBinaryProtocol: packs scalars, and skips over a value without building it."""

from struct import Struct as Packing
from struct import error as packing_error

from hive.errors import ThriftError
from hive.thrift.types import (
    BOOL,
    BYTE,
    DOUBLE,
    I16,
    I32,
    I64,
    LIST,
    MAP,
    SET,
    STOP,
    STRING,
    STRUCT,
)

__all__ = [
    "DEPTH_MAX",
    "FIELD",
    "FIXED_SIZES",
    "PACK_DOUBLE",
    "PACK_I8",
    "PACK_I16",
    "PACK_I32",
    "PACK_I64",
    "PACK_ITEMS",
    "PACK_PAIRS",
    "packing_error",
    "skip",
]

DEPTH_MAX = 64
FIELD = Packing("!bh")
PACK_I8, PACK_I16, PACK_I32 = Packing("!b"), Packing("!h"), Packing("!i")
PACK_I64, PACK_DOUBLE = Packing("!q"), Packing("!d")
PACK_ITEMS, PACK_PAIRS = Packing("!bi"), Packing("!bbi")
FIXED_SIZES = {BOOL: 1, BYTE: 1, I16: 2, I32: 4, I64: 8, DOUBLE: 8}


def skip(data: bytes, at: int, code: int, depth: int = 0) -> int:
    """The position after the value of this type that begins at `at`."""
    end = _skip(data, at, code, depth)
    if end > len(data):
        raise ThriftError(f"the value at byte {at} ends at {end}, beyond all {len(data)} bytes")
    return end


def _skip(data: bytes, at: int, code: int, depth: int) -> int:
    size = FIXED_SIZES.get(code)
    if size is not None:
        return at + size
    if depth > DEPTH_MAX:
        raise ThriftError(f"more than {DEPTH_MAX} levels at byte {at}")
    try:
        if code == STRING:
            return at + 4 + _length(PACK_I32.unpack_from(data, at)[0], at)
        if code == STRUCT:
            while data[at] != STOP:
                at = skip(data, at + 3, data[at], depth + 1)
            return at + 1
        if code in (LIST, SET):
            item, count = PACK_ITEMS.unpack_from(data, at)
            return _skip_items(data, at + 5, (item,), count, depth + 1)
        if code == MAP:
            key, value, count = PACK_PAIRS.unpack_from(data, at)
            return _skip_items(data, at + 6, (key, value), count, depth + 1)
    except (IndexError, packing_error):
        raise ThriftError(f"the value at byte {at} ends beyond all {len(data)} bytes") from None
    raise ThriftError(f"no such type as {code} at byte {at}")


def _length(length: int, at: int) -> int:
    if length < 0:
        raise ThriftError(f"a negative length at byte {at}")
    return length


def _skip_items(data: bytes, at: int, codes: tuple[int, ...], count: int, depth: int) -> int:
    sizes = [FIXED_SIZES.get(code) for code in codes]
    if all(sizes):
        return at + _length(count, at) * sum(size or 0 for size in sizes)
    for _ in range(_length(count, at)):
        for code in codes:
            at = skip(data, at, code, depth)
    return at
