"""Finds the end of a message by skipping through its bytes, in whatever pieces they arrive."""

import re
import sys
from itertools import repeat
from operator import length_hint
from struct import Struct
from typing import Final

from hive.errors import ThriftError
from hive.thrift.wire import DEPTH_MAX
from query_api.thrift.protocol.wire import NAME_BYTES_MAX, MessageType

STEPS_MAX: Final = 100_000
"""A message may take this many steps, and one more for every `BYTES_A_STEP` of its bytes. Only
messages of very many values without content take more.
"""
BYTES_A_STEP: Final = 4
READ_STEPS_MAX: Final = 250_000
"""A read of more steps isn't answered here: other clients would wait while it is decoded."""
_NAME: Final = re.compile(rb"[A-Za-z_][A-Za-z0-9_.:]*")
_I32: Final = Struct("!i").unpack_from
_U32: Final = Struct("!I").unpack_from
_CODE_AND_I32: Final = Struct("!Bi").unpack_from
_STOP, _STRING, _STRUCT, _MAP, _SET, _LIST = 0, 11, 12, 13, 14, 15
_KINDS: Final = frozenset(int(kind) for kind in MessageType)
# The size of a value by the code of its type; 0 if the size varies, -1 if there is no such type.
_SIZES: Final = (-1, -1, 1, 1, 8, -1, 2, -1, 4, -1, 8, 0, 0, 0, 0, 0, *[-1] * 240)


class _Items:
    """The remaining items of a list, a set or a map."""

    __slots__ = ("code", "left", "next_code")

    def __init__(self, code: int, next_code: int, left: int) -> None:
        self.code = code
        self.next_code = next_code
        self.left = left


class Scanner:
    """Scans one message after the other; reads only their headers and builds no objects.

    1. Each byte is examined once.
    2. A message that announces too much length or depth is refused before it has arrived.
    3. One that takes too many steps for its length is refused at the first step too many.
    """

    def __init__(self, bytes_max: int, steps_max: int = sys.maxsize) -> None:
        """`steps_max` limits the steps beside those for bytes; by default there is no limit."""
        self._bytes_max = bytes_max
        self._steps_max = steps_max
        self._steps: repeat[None] = repeat(None, 0)
        """The steps that are left of those granted."""
        self._granted = 0
        self._skipped_items = 0
        self._open: list[_Items | None] = []
        self._rest = b""
        self._offset = 0
        self._fed_bytes = 0
        self._name = b""
        self.method = ""
        self.kind = 0
        self.sequence = b""
        self.body_at = 0
        """Where in the message its struct begins; 0 until the whole header has arrived."""

    @property
    def idle(self) -> bool:
        """Whether the scanner is between two messages."""
        return not self._fed_bytes

    @property
    def steps(self) -> int:
        """About the number of steps for the message so far; each item of a list counts."""
        return self._granted - length_hint(self._steps) + self._skipped_items

    def feed(self, data: bytes, start: int = 0) -> int:
        """Continues at `start`; returns where in `data` the message ends, or -1 if it isn't
        complete.
        """
        new_bytes = len(data) - start
        if not new_bytes:
            return -1
        if not self._fed_bytes:
            self.body_at = 0
            self._open.append(None)
            self._granted = self._steps_max
            self._steps = repeat(None, self._steps_max)
            self._skipped_items = 0
        rest_bytes = len(self._rest)
        if rest_bytes:
            data, base, at = self._rest + data[start:], self._offset, 0
        else:
            base, at = self._fed_bytes - start, start + self._offset - self._fed_bytes
        if not self.body_at:
            body_at = self._header(data, at)
            if body_at:
                self.body_at = body_at - at
                at = body_at
        if self.body_at:
            at = self._skip(data, at, self._bytes_max - base)
            if not self._open:
                if self._fed_bytes:
                    self._fed_bytes = self._offset = 0
                    self._rest = b""
                return at - rest_bytes + start if rest_bytes else at
        self._fed_bytes += new_bytes
        self._offset = base + at
        self._rest = data[at:]
        if self._offset > self._bytes_max:
            raise ThriftError(f"a message of more than {self._bytes_max} bytes")
        return -1

    def _header(self, data: bytes, at: int) -> int:
        """Reads the header, versioned or not; returns where it ends, or 0 if it is incomplete."""
        size = len(data) - at
        if size < 4:
            return 0
        word: int = _I32(data, at)[0]
        versioned = word < 0
        if versioned:
            if word & 0xFFFFFF00 != 0x80010000:
                raise ThriftError("an unknown version of Thrift's binary protocol")
            if size < 8:
                return 0
            at += 4
            kind = word & 0xFF
            word = _I32(data, at)[0]
        if not 0 < word <= NAME_BYTES_MAX:
            raise ThriftError(f"a method's name of {word} bytes: this is not Thrift's protocol")
        name_at, end = at + 4, at + word + (8 if versioned else 9)
        name = data[name_at : name_at + word]
        # Clients call the same method again and again.
        if name != self._name and name and _NAME.fullmatch(name) is None:
            raise ThriftError("a method's name that can't be one: is the transport framed?")
        if len(data) < end:
            return 0
        if not versioned:
            kind = data[name_at + word]
        if kind not in _KINDS:
            raise ThriftError(f"a message of unknown type {kind}")
        if name != self._name:
            self._name, self.method = name, name.decode()
        self.kind, self.sequence = kind, data[end - 4 : end]
        return end

    def _skip(self, data: bytes, at: int, end_max: int) -> int:
        """Skips values until nothing is open, or until more bytes are needed."""
        size, still_open = len(data), self._open
        while True:
            # Counting by an iterator takes no time.
            for _ in self._steps:
                if not still_open or at >= size:
                    return at
                items = still_open[-1]
                if items is None:
                    code = data[at]
                    if code == _STOP:
                        at += 1
                        still_open.pop()
                        continue
                    after = at + 3
                elif items.left:
                    code, after = items.code, at
                else:
                    still_open.pop()
                    continue
                fixed = _SIZES[code]
                if fixed > 0:
                    at = after + fixed
                elif code == _STRING and after <= size - 4:
                    at = after + 4 + _U32(data, after)[0]
                else:
                    after = self._begin(data, code, after, end_max)
                    if after < 0:
                        return at
                    at = after
                if items is not None:
                    items.left -= 1
                    items.code, items.next_code = items.next_code, items.code
            self._grant_steps(size + self._bytes_max - end_max)

    def _grant_steps(self, fed_bytes: int) -> None:
        """Grants the steps for the bytes that have come; refuses the message if they are used."""
        allowed = self._steps_max + fed_bytes // BYTES_A_STEP
        if allowed <= self._granted:
            where = f"the first {fed_bytes} bytes of a message"
            raise ThriftError(f"more than {allowed} values in {where}")
        self._steps = repeat(None, allowed - self._granted)
        self._granted = allowed

    def _begin(self, data: bytes, code: int, at: int, end_max: int) -> int:
        """Skips the header of a struct or container; returns -1 if it is incomplete."""
        if code == _STRING:
            return -1
        if code == _STRUCT:
            self._enter(None)
            return at
        if _SIZES[code] < 0:
            raise ThriftError(f"no type has the code {code}")
        return self._container(data, code, at, end_max)

    def _container(self, data: bytes, code: int, at: int, end_max: int) -> int:
        """Returns where the items of a container begin, or where they end if all have one size; -1
        if its header is incomplete.
        """
        first: int
        second: int
        count: int
        if code == _MAP:
            if at + 6 > len(data):
                return -1
            first, (second, count) = data[at], _CODE_AND_I32(data, at + 1)
            at += 6
        else:
            if at + 5 > len(data):
                return -1
            first, count = _CODE_AND_I32(data, at)
            second = first
            at += 5
        if not 0 <= count <= end_max - at:
            raise ThriftError(f"a list, set or map of {count} items")
        if not count:
            return at
        sizes = _SIZES[first], _SIZES[second]
        if min(sizes) < 0:
            raise ThriftError(f"items of the unknown type {first} or {second}")
        per_entry = sum(sizes) if code == _MAP else sizes[0]
        items = 2 * count if code == _MAP else count
        if all(sizes):
            self._skipped_items += items
            return at + count * per_entry
        left = items
        if first == second == _STRING:
            left, at = _skip_texts(data, at, items)
            self._skipped_items += items - left
        if left:
            self._enter(_Items(first, second, left))
        return at

    def _enter(self, items: _Items | None) -> None:
        if len(self._open) > DEPTH_MAX:
            raise ThriftError(f"more than {DEPTH_MAX} levels")
        self._open.append(items)


def _skip_texts(data: bytes, at: int, count: int) -> tuple[int, int]:
    """Skips texts; returns how many of them begin after `data`, and where the last of the others
    ends.
    """
    last = len(data) - 4
    while count and at <= last:
        # Lengths are read as unsigned, so that a negative one lies far beyond the end.
        at += 4 + _U32(data, at)[0]
        count -= 1
    return count, at
