"""A set of keys, as half-open ranges."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator


class Ranges:
    """Disjoint ranges in order; overlapping ones are merged, adjacent ones aren't.

    Adjacent ranges may belong to different kinds of entries, so they must stay apart.
    """

    __slots__ = ("_ends", "_starts")

    def __init__(self) -> None:
        self._starts: list[bytes] = []
        self._ends: list[bytes] = []

    def add(self, start: bytes, end: bytes) -> None:
        if start >= end:
            return
        first = bisect_right(self._ends, start)
        last = bisect_left(self._starts, end)
        if first < last:
            start = min(start, self._starts[first])
            end = max(end, self._ends[last - 1])
        self._starts[first:last] = [start]
        self._ends[first:last] = [end]

    def __contains__(self, key: bytes) -> bool:
        index = bisect_right(self._starts, key)
        return index > 0 and key < self._ends[index - 1]

    def __iter__(self) -> Iterator[tuple[bytes, bytes]]:
        return zip(self._starts, self._ends, strict=True)

    def __len__(self) -> int:
        return len(self._starts)
