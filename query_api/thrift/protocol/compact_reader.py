"""Turns messages of Thrift's compact protocol into those of the binary one, in whatever pieces they
arrive.
"""

from struct import error as packing_error
from typing import Final

from hive.errors import ThriftError
from hive.thrift.types import BOOL, BYTE, DOUBLE, I16, I32, I64, LIST, MAP, SET, STRING, STRUCT
from hive.thrift.wire import (
    DEPTH_MAX,
    FIELD,
    PACK_I16,
    PACK_I32,
    PACK_I64,
    PACK_ITEMS,
    PACK_PAIRS,
)
from query_api.thrift.protocol.wire import NAME_BYTES_MAX, VERSION

PROTOCOL: Final = 0x82
"""The first byte of each message."""
PROTOCOL_VERSION: Final = 1
TRUE, FALSE = 1, 2
BINARY_TYPES: Final = {
    **{TRUE: BOOL, FALSE: BOOL, 3: BYTE, 4: I16, 5: I32, 6: I64, 7: DOUBLE, 8: STRING},
    **{9: LIST, 10: SET, 11: MAP, 12: STRUCT},
}
_PACKED: Final = {4: PACK_I16.pack, 5: PACK_I32.pack, 6: PACK_I64.pack}
_EMPTY_MAP: Final = PACK_PAIRS.pack(STRING, STRING, 0)
_VARINT_BYTES_MAX: Final = 10
_LONG: Final = 15
"""Says that the size of a list follows."""


class _Struct:
    """A struct that has begun."""

    __slots__ = ("last_id",)

    def __init__(self) -> None:
        self.last_id = 0


class _Items:
    """What is left of a list, a set or a map."""

    __slots__ = ("code", "left", "next_code")

    def __init__(self, code: int, next_code: int, left: int) -> None:
        self.code, self.next_code, self.left = code, next_code, left


class _MoreNeededError(Exception):
    """A value isn't complete. The argument says how many bytes it takes."""


class CompactReader:
    """Reads one message after the other.

    1. What was read isn't read again; a value that isn't complete waits until it can be.
    2. A message of too many bytes, in either protocol, or of too many values is refused at the
       first too many.
    """

    def __init__(self, bytes_max: int, values_max: int) -> None:
        self._bytes_max = bytes_max
        self._values_max = values_max
        self._received = bytearray()
        self._needed = 0
        self._read = bytearray()
        """The message so far, in the binary protocol."""
        self._open: list[_Struct | _Items] = []
        self._values = 0
        self._size = 0

    @property
    def held_bytes(self) -> int:
        return len(self._received) + len(self._read)

    def feed(self, data: bytes) -> bytes:
        """The messages that are complete now. Raises ThriftError."""
        self._received += data
        messages, at = bytearray(), 0
        while len(self._received) > at and len(self._received) >= at + self._needed:
            try:
                end = self._step(at)
            except IndexError:
                break
            except _MoreNeededError as error:
                self._needed = error.args[0]
                break
            except packing_error:
                raise ThriftError("a number that is too large for its type") from None
            self._needed = 0
            self._size += end - at
            at = end
            if not self._open:
                messages += self._read
                self._read.clear()
                self._size = self._values = 0
        del self._received[:at]
        if max(self._size + len(self._received), len(self._read)) > self._bytes_max:
            raise ThriftError(f"a message of more than {self._bytes_max} bytes")
        return bytes(messages)

    def _step(self, at: int) -> int:
        """Reads a header, a field or an item; returns where it ends. Nothing is changed if it isn't
        complete.
        """
        if not self._open:
            return self._message(at)
        self._values += 1
        if self._values > self._values_max:
            raise ThriftError(f"a message of more than {self._values_max} values")
        now, size = self._open[-1], len(self._read)
        try:
            return self._field(now, at) if isinstance(now, _Struct) else self._item(now, at)
        except (IndexError, _MoreNeededError):
            del self._read[size:]
            self._values -= 1
            raise

    def _message(self, at: int) -> int:
        received = self._received
        if received[at] != PROTOCOL or received[at + 1] & 0x1F != PROTOCOL_VERSION:
            raise ThriftError("an unknown version of Thrift's compact protocol")
        kind = received[at + 1] >> 5
        sequence, at = self._varint(at + 2)
        size, at = self._varint(at)
        if not 0 < size <= NAME_BYTES_MAX:
            raise ThriftError(f"a method's name of {size} bytes: this is not Thrift's protocol")
        name = self._bytes(at, size)
        self._read += VERSION + bytes((kind,)) + PACK_I32.pack(size) + name
        self._read += (sequence & 0xFFFFFFFF).to_bytes(4, "big")
        self._open.append(_Struct())
        return at + size

    def _field(self, struct: _Struct, at: int) -> int:
        head = self._received[at]
        at += 1
        if not head:
            self._read.append(0)
            self._open.pop()
            return at
        code, number = head & 0x0F, struct.last_id + (head >> 4)
        if not head >> 4:
            number, at = self._integer(at)
        if code not in BINARY_TYPES:
            raise ThriftError(f"a field of unknown type {code}")
        self._read += FIELD.pack(BINARY_TYPES[code], number)
        if BINARY_TYPES[code] == BOOL:
            self._read.append(code == TRUE)
        else:
            at = self._value(code, at)
        struct.last_id = number
        return at

    def _item(self, items: _Items, at: int) -> int:
        if not items.left:
            self._open.pop()
            return at
        at = self._value(items.code, at)
        items.left -= 1
        items.code, items.next_code = items.next_code, items.code
        return at

    def _value(self, code: int, at: int) -> int:
        """Reads a value, or the beginning of one that holds others."""
        received, read = self._received, self._read
        pack = _PACKED.get(code)
        if pack is not None:
            number, at = self._integer(at)
            read += pack(number)
            return at
        kind = BINARY_TYPES[code]
        if kind == STRING:
            size, at = self._size_of(at)
            content = self._bytes(at, size)
            read += PACK_I32.pack(size) + content
            return at + size
        if kind == DOUBLE:
            read += self._bytes(at, 8)[::-1]
            return at + 8
        if kind in (BOOL, BYTE):
            read.append(received[at] == TRUE if kind == BOOL else received[at])
            return at + 1
        return self._container(kind, at)

    def _container(self, kind: int, at: int) -> int:
        received, read = self._received, self._read
        if kind == STRUCT:
            self._begin(_Struct())
        elif kind == MAP:
            size, at = self._size_of(at)
            if not size:
                read += _EMPTY_MAP
                return at
            keys, values = received[at] >> 4, received[at] & 0x0F
            at += 1
            read += PACK_PAIRS.pack(self._known(keys), self._known(values), size)
            self._begin(_Items(keys, values, 2 * size))
        else:
            code, size = received[at] & 0x0F, received[at] >> 4
            at += 1
            if size == _LONG:
                size, at = self._size_of(at)
            read += PACK_ITEMS.pack(self._known(code), size)
            self._begin(_Items(code, code, size))
        return at

    def _begin(self, opened: _Struct | _Items) -> None:
        if len(self._open) > DEPTH_MAX:
            raise ThriftError(f"more than {DEPTH_MAX} levels")
        self._open.append(opened)

    def _known(self, code: int) -> int:
        if code not in BINARY_TYPES:
            raise ThriftError(f"items of unknown type {code}")
        return BINARY_TYPES[code]

    def _size_of(self, at: int) -> tuple[int, int]:
        size, at = self._varint(at)
        if size > self._bytes_max:
            raise ThriftError(f"a size of {size}, beyond {self._bytes_max} bytes")
        return size, at

    def _bytes(self, at: int, size: int) -> bytes:
        if len(self._received) < at + size:
            raise _MoreNeededError(size)
        return bytes(self._received[at : at + size])

    def _integer(self, at: int) -> tuple[int, int]:
        """An integer whose sign is in its last bit."""
        number, at = self._varint(at)
        return (number >> 1) ^ -(number & 1), at

    def _varint(self, at: int) -> tuple[int, int]:
        """An integer of seven bits a byte, the lowest first, and where it ends."""
        number = shift = 0
        for _ in range(_VARINT_BYTES_MAX):
            byte = self._received[at]
            at += 1
            number |= (byte & 0x7F) << shift
            if byte < 0x80:
                return number, at
            shift += 7
        raise ThriftError(f"an integer of more than {_VARINT_BYTES_MAX} bytes")
