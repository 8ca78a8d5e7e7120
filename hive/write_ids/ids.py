"""Ascending write ids: compact, and fast to compare by the hundred thousand."""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import final, overload

BITS_PER_ID_MAX = 128
"""Ids that lie further apart get no bitmap: it would take too much memory."""
DIFFERENCES_MAX = 64
"""After this many differences between ids without a bitmap, hashing is faster than searching."""


@final
class Ids(Sequence[int]):
    """An immutable ascending sequence of 64-bit ids; an id may be repeated, as in Hive's lists.

    `bits` has the bit `id - base` set for each id, or is None if ids lie far apart. `distinct` says
    that no id is repeated.
    """

    __slots__ = ("base", "bits", "distinct", "values")

    def __init__(self, ids: Iterable[int] = ()) -> None:
        self.values = array("q", sorted(ids))
        self.base = 0
        self.bits: int | None = 0
        self.distinct = True
        if self.values:
            self._index()

    def _index(self) -> None:
        base = self.base = self.values[0]
        span = self.values[-1] - base + 1
        if span > BITS_PER_ID_MAX * len(self.values):
            self.bits = None
            self.distinct = len(set(self.values)) == len(self.values)
            return
        bits = bytearray((span + 7) // 8)
        for id_ in self.values:
            offset = id_ - base
            bits[offset >> 3] |= 1 << (offset & 7)
        self.bits = int.from_bytes(bits, "little")
        self.distinct = self.bits.bit_count() == len(self.values)

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self) -> Iterator[int]:
        return iter(self.values)

    @overload
    def __getitem__(self, index: int) -> int: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[int]: ...
    def __getitem__(self, index: int | slice) -> int | Sequence[int]:
        return self.values[index]

    def __contains__(self, id_: object) -> bool:
        if not isinstance(id_, int):
            return False
        place = bisect_left(self.values, id_)
        return place < len(self.values) and self.values[place] == id_

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ids) and self.values == other.values

    def __hash__(self) -> int:
        return hash(self.values.tobytes())

    def __repr__(self) -> str:
        return f"Ids({self.values.tolist()})"

    def between(self, first: int, last: int) -> Sequence[int]:
        """The ids from `first` to `last`, inclusive."""
        start = bisect_left(self.values, first)
        return self.values[start : bisect_right(self.values, last)]

    def count(self, first: int, last: int | None = None) -> int:
        """How many ids lie from `first` to `last`, inclusive; without `last`, how often `first`
        occurs."""
        last = first if last is None else last
        return bisect_right(self.values, last) - bisect_left(self.values, first)

    def within(self, other: "Ids", last: int) -> bool:
        """Whether the other sequence contains each of these ids up to `last`."""
        if not self.values or self.base > last or self.values == other.values:
            return True
        end = bisect_right(self.values, last)
        if self.distinct and end > bisect_right(other.values, last):
            return False
        if self.bits is None or other.bits is None:
            return self._contained_in(other, end)
        ours = self.bits
        if self.values[-1] > last:
            ours &= (1 << (last - self.base + 1)) - 1
        shift = other.base - self.base
        if shift >= ours.bit_length() or not other.values:
            return False
        theirs = other.bits << shift if shift >= 0 else other.bits >> -shift
        return ours & theirs == ours

    def _contained_in(self, other: "Ids", end: int) -> bool:
        """Whether the other sequence contains all of the first ids; equal stretches are compared at
        once."""
        place = there = 0
        for _ in range(DIFFERENCES_MAX):
            count = _equal_length(self.values[place:end], other.values[there:])
            place, there = place + count, there + count
            if place == end:
                return True
            if place and self.values[place] == self.values[place - 1]:
                place += 1
                continue
            there = bisect_left(other.values, self.values[place], there)
            if there == len(other.values) or other.values[there] != self.values[place]:
                return False
        return set(self.values[place:end]) <= set(other.values)


def _equal_length(ours: "array[int]", theirs: "array[int]") -> int:
    """The length of the common prefix."""
    most = min(len(ours), len(theirs))
    if ours[:most] == theirs[:most]:
        return most
    equal, differ = 0, most
    while differ - equal > 1:
        middle = (equal + differ) // 2
        if ours[equal:middle] == theirs[equal:middle]:
            equal = middle
        else:
            differ = middle
    return equal
