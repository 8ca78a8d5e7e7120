"""Structs without a description, as plain values that can be compared."""

from collections.abc import Iterator
from typing import Any, Final

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
from hive.thrift.wire import DEPTH_MAX, FIELD, PACK_I32, PACK_ITEMS, PACK_PAIRS, packing_error
from hive.thrift.writers import PACKINGS

SHOWN_CHARS_MAX: Final = 120
_FIXED: Final = frozenset((BYTE, DOUBLE, I16, I32, I64))

Value = Any


def parse(data: bytes) -> Value:
    """A struct as field ids and values; maps and sets are without order."""
    try:
        value, end = _value(data, 0, STRUCT, 0)
    except (IndexError, packing_error) as error:
        raise ThriftError(f"{len(data)} bytes that are no struct: {error}") from error
    if end != len(data):
        raise ThriftError(f"{len(data) - end} bytes too many after a struct")
    return value


def differences(ours: Value, theirs: Value, path: str = "") -> Iterator[tuple[str, Value, Value]]:
    """The differences between two values: paths of field ids, keys and indices, each with both
    parts."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for key in sorted({*ours, *theirs}, key=repr):
            yield from differences(ours.get(key), theirs.get(key), f"{path}/{_key(key)}")
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for index, pair in enumerate(zip(ours, theirs, strict=True)):
            yield from differences(*pair, f"{path}/{index}")
    elif ours != theirs:
        yield path or "/", ours, theirs


def shown(value: Value) -> str:
    """A value as text for people, truncated."""
    text = repr(value)
    return text if len(text) <= SHOWN_CHARS_MAX else f"{text[:SHOWN_CHARS_MAX]}…"


def _key(key: Value) -> str:
    return key.decode(errors="replace") if isinstance(key, bytes) else str(key)


def _value(data: bytes, at: int, code: int, depth: int) -> tuple[Value, int]:
    if depth > DEPTH_MAX:
        raise ThriftError(f"more than {DEPTH_MAX} levels")
    if code == BOOL:
        return data[at] == 1, at + 1
    if code in _FIXED:
        packing = PACKINGS[code]
        return packing.unpack_from(data, at)[0], at + packing.size
    if code == STRING:
        end = at + 4 + _count(PACK_I32.unpack_from(data, at)[0], data)
        return data[at + 4 : end], end
    if code == STRUCT:
        return _struct(data, at, depth + 1)
    if code == MAP:
        return _map(data, at, depth + 1)
    if code in (LIST, SET):
        item, count = PACK_ITEMS.unpack_from(data, at)
        values, at = _items(data, at + 5, (item,), _count(count, data), depth + 1)
        return (frozenset(map(_frozen, values)) if code == SET else values), at
    raise ThriftError(f"no type has the code {code}")


def _struct(data: bytes, at: int, depth: int) -> tuple[dict[int, Value], int]:
    fields = {}
    while data[at] != STOP:
        code, number = FIELD.unpack_from(data, at)
        fields[number], at = _value(data, at + 3, code, depth)
    return fields, at + 1


def _map(data: bytes, at: int, depth: int) -> tuple[dict[Value, Value], int]:
    key, value, count = PACK_PAIRS.unpack_from(data, at)
    items, at = _items(data, at + 6, (key, value), _count(count, data), depth)
    return {
        _frozen(key_item): item for key_item, item in zip(items[::2], items[1::2], strict=True)
    }, at


def _items(
    data: bytes, at: int, codes: tuple[int, ...], count: int, depth: int
) -> tuple[list[Value], int]:
    values = []
    for _ in range(count):
        for code in codes:
            value, at = _value(data, at, code, depth)
            values.append(value)
    return values, at


def _count(count: int, data: bytes) -> int:
    if not 0 <= count <= len(data):
        raise ThriftError(f"a length of {count} in {len(data)} bytes")
    return count


def _frozen(value: Value) -> Value:
    """The value in a hashable form."""
    if isinstance(value, dict):
        return tuple(
            sorted(((_frozen(key), _frozen(item)) for key, item in value.items()), key=repr)
        )
    if isinstance(value, list):
        return tuple(map(_frozen, value))
    return value
