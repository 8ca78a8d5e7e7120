"""Turns a whole message of Thrift's binary protocol into one of the compact one."""

from typing import Final

from hive.thrift.types import BOOL, DOUBLE, LIST, MAP, SET, STRING, STRUCT
from hive.thrift.wire import FIXED_SIZES, PACK_I16, PACK_I32
from query_api.thrift.protocol.compact_reader import (
    BINARY_TYPES,
    FALSE,
    PROTOCOL,
    PROTOCOL_VERSION,
    TRUE,
)
from query_api.thrift.protocol.wire import Message

_TYPES: Final = {BINARY_TYPES[code]: code for code in BINARY_TYPES} | {BOOL: TRUE}
_SMALL: Final = 15
"""Below this, a size or a step from one field to the next shares a byte with a type."""


def compact(message: Message) -> bytes:
    """The same message. Its form must have been checked."""
    name = message.method.encode()
    written = bytearray((PROTOCOL, PROTOCOL_VERSION | message.kind << 5))
    _write_varint(int.from_bytes(message.sequence, "big"), written)
    _write_varint(len(name), written)
    written += name
    _write_struct(message.data, message.body_at, written)
    return bytes(written)


def _write_struct(data: bytes, at: int, written: bytearray) -> int:
    last = 0
    while code := data[at]:
        (number,) = PACK_I16.unpack_from(data, at + 1)
        at += 3
        compacted = _TYPES[code]
        if code == BOOL:
            compacted = TRUE if data[at] else FALSE
        if 0 < number - last <= _SMALL:
            written.append((number - last) << 4 | compacted)
        else:
            written.append(compacted)
            _write_integer(number, written)
        last = number
        at = at + 1 if code == BOOL else _write_value(data, at, code, written)
    written.append(0)
    return at + 1


def _write_value(data: bytes, at: int, code: int, written: bytearray) -> int:
    """Writes a value of this type; returns where it ends in `data`."""
    if code == STRUCT:
        return _write_struct(data, at, written)
    if code == STRING:
        begin = at + 4
        end: int = begin + PACK_I32.unpack_from(data, at)[0]
        _write_varint(end - begin, written)
        written += data[begin:end]
        return end
    if code in (LIST, SET):
        return _write_items(data, at, written)
    if code == MAP:
        return _write_map(data, at, written)
    end = at + FIXED_SIZES[code]
    if code == BOOL:
        written.append(TRUE if data[at] else FALSE)
    elif code == DOUBLE:
        written += data[at:end][::-1]
    elif end == at + 1:
        written.append(data[at])
    else:
        _write_integer(int.from_bytes(data[at:end], "big", signed=True), written)
    return end


def _write_items(data: bytes, at: int, written: bytearray) -> int:
    code, size = data[at], PACK_I32.unpack_from(data, at + 1)[0]
    written.append(min(size, _SMALL) << 4 | _TYPES[code])
    if size >= _SMALL:
        _write_varint(size, written)
    at += 5
    for _ in range(size):
        at = _write_value(data, at, code, written)
    return at


def _write_map(data: bytes, at: int, written: bytearray) -> int:
    keys, values, size = data[at], data[at + 1], PACK_I32.unpack_from(data, at + 2)[0]
    at += 6
    _write_varint(size, written)
    if size:
        written.append(_TYPES[keys] << 4 | _TYPES[values])
    for _ in range(size):
        at = _write_value(data, at, keys, written)
        at = _write_value(data, at, values, written)
    return at


def _write_integer(number: int, written: bytearray) -> None:
    """Writes an integer with its sign in its last bit."""
    _write_varint(number << 1 if number >= 0 else (-number << 1) - 1, written)


def _write_varint(number: int, written: bytearray) -> None:
    while number > 0x7F:
        written.append(number & 0x7F | 0x80)
        number >>= 7
    written.append(number)
