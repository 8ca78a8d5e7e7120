"""Uncommitted changes over a view of the committed state."""

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final, Protocol

from state.kv import in_one_kind
from state.store.ranges import Ranges

_UNCHANGED: Final[Any] = object()


class _Base(Protocol):
    """What changes are put over."""

    def get(self, key: bytes) -> bytes | None: ...

    def scan(self, start: bytes, end: bytes) -> Iterator[tuple[bytes, bytes]]: ...


class Overlay:
    """The transaction of every store: reads see its own writes first, then its base.

    The fold puts and gets far more than it scans, so puts and gets are one dictionary operation
    each, and keys are sorted only when a scan or a range deletion needs it.
    """

    __slots__ = ("_any_range", "_changes", "_get_base", "_ordered", "_ranges", "_scan_base")

    def __init__(self, base: _Base) -> None:
        self._get_base = base.get
        self._scan_base = base.scan
        self._changes: dict[bytes, bytes | None] = {}
        self._ordered: list[bytes] = []
        self._ranges = Ranges()
        self._any_range = False

    @property
    def changes(self) -> Mapping[bytes, bytes | None]:
        """The last value put at each key, None for a deleted one; they apply after `ranges`."""
        return self._changes

    @property
    def ranges(self) -> Ranges:
        """The ranges deleted before `changes` apply."""
        return self._ranges

    def clear(self) -> None:
        """Forgets all changes, after a commit or instead of one."""
        self._changes.clear()
        self._ordered.clear()
        self._ranges = Ranges()
        self._any_range = False

    def get(self, key: bytes) -> bytes | None:
        value: bytes | None = self._changes.get(key, _UNCHANGED)
        if value is not _UNCHANGED:
            return value
        if self._any_range and key in self._ranges:
            return None
        return self._get_base(key)

    def put(self, key: bytes, value: bytes) -> None:
        self._changes[key] = value

    def put_all(self, entries: Iterable[tuple[bytes, bytes]]) -> None:
        self._changes.update(entries)

    def delete(self, key: bytes) -> None:
        self._changes[key] = None

    def delete_range(self, start: bytes, end: bytes) -> None:
        if start >= end:
            return
        assert in_one_kind(start, end), "a range crosses kinds"
        for key in self._take_changed(start, end):
            del self._changes[key]
        self._ranges.add(start, end)
        self._any_range = True

    def scan(self, start: bytes, end: bytes) -> Iterator[tuple[bytes, bytes]]:
        base = self._scan_base(start, end)
        if self._any_range:
            base = _without(base, _overlapping(self._ranges, start, end))
        changed = self._changed(start, end)
        if not changed:
            return base
        return _merge(base, [(key, self._changes[key]) for key in changed])

    def keys(self, start: bytes, end: bytes, most: int) -> list[bytes]:
        return [key for key, _ in islice(self.scan(start, end), most)]

    def values(self, keys: Sequence[bytes]) -> list[bytes | None]:
        return [self.get(key) for key in keys]

    def _changed(self, start: bytes, end: bytes) -> list[bytes]:
        self._order()
        return self._ordered[bisect_left(self._ordered, start) : bisect_left(self._ordered, end)]

    def _take_changed(self, start: bytes, end: bytes) -> list[bytes]:
        changed = self._changed(start, end)
        first = bisect_left(self._ordered, start)
        del self._ordered[first : first + len(changed)]
        return changed

    def _order(self) -> None:
        """Sorts in the new keys, which are the last ones of the dictionary."""
        fresh_count = len(self._changes) - len(self._ordered)
        if fresh_count == 0:
            return
        newest_first = reversed(self._changes)
        fresh = [next(newest_first) for _ in range(fresh_count)]
        if fresh_count * 16 < len(self._ordered):
            for key in fresh:
                insort(self._ordered, key)
        else:
            self._ordered += fresh
            self._ordered.sort()


def _overlapping(ranges: Ranges, start: bytes, end: bytes) -> Ranges:
    overlapping = Ranges()
    for range_start, range_end in ranges:
        if range_start < end and start < range_end:
            overlapping.add(range_start, range_end)
    return overlapping


def _without(
    entries: Iterator[tuple[bytes, bytes]], ranges: Ranges
) -> Iterator[tuple[bytes, bytes]]:
    return (entry for entry in entries if entry[0] not in ranges) if ranges else entries


def _merge(
    base: Iterator[tuple[bytes, bytes]], changed: list[tuple[bytes, bytes | None]]
) -> Iterator[tuple[bytes, bytes]]:
    index = 0
    for entry in base:
        while index < len(changed) and changed[index][0] <= entry[0]:
            key, value = changed[index]
            index += 1
            if value is not None:
                yield key, value
            if key == entry[0]:
                break
        else:
            yield entry
    for key, value in changed[index:]:
        if value is not None:
            yield key, value
