"""The twin of a store in a dictionary: for tests of the fold, and for folds that keep nothing."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence

from state.kv import in_one_kind
from state.store.commits import Commits
from state.store.metadata import StorePosition
from state.store.overlay import Overlay


class MemoryView:
    """The entries of one moment, sorted at the first scan."""

    def __init__(self, entries: dict[bytes, bytes]) -> None:
        self.entries = entries
        self._ordered: list[bytes] | None = None

    def get(self, key: bytes) -> bytes | None:
        return self.entries.get(key)

    def scan(self, start: bytes, end: bytes) -> Iterator[tuple[bytes, bytes]]:
        return iter([(key, self.entries[key]) for key in self._between(start, end)])

    def keys(self, start: bytes, end: bytes, most: int) -> list[bytes]:
        return self._between(start, end)[:most]

    def values(self, keys: Sequence[bytes]) -> list[bytes | None]:
        return [self.entries.get(key) for key in keys]

    def _between(self, start: bytes, end: bytes) -> list[bytes]:
        if start >= end:
            return []
        assert in_one_kind(start, end), "a scan crosses kinds"
        if self._ordered is None:
            self._ordered = sorted(self.entries)
        first, last = bisect_left(self._ordered, start), bisect_left(self._ordered, end)
        return self._ordered[first:last]

    def changed(self) -> None:
        self._ordered = None


class MemorySnapshot(MemoryView):
    def __init__(self, entries: dict[bytes, bytes], position: StorePosition) -> None:
        super().__init__(entries)
        self.position = position


class MemoryStore:
    """Behaves like `Store`, and ends with the process."""

    def __init__(self) -> None:
        self.commits = Commits()
        self._view = MemoryView({})
        self._position = StorePosition()

    @property
    def position(self) -> StorePosition:
        return self._position

    def snapshot(self) -> MemorySnapshot:
        return MemorySnapshot(dict(self._view.entries), self._position)

    def transaction(self) -> Overlay:
        return Overlay(self._view)

    def commit(self, transaction: Overlay, position: StorePosition) -> None:
        assert position.offset >= self._position.offset, "a commit goes back in the topic"
        self.commits.begin(transaction)
        entries = self._view.entries
        for start, end in transaction.ranges:
            for key, _ in self._view.scan(start, end):
                entries.pop(key, None)
        for changed, value in transaction.changes.items():
            if value is None:
                entries.pop(changed, None)
            else:
                entries[changed] = value
        self._view.changed()
        self._position = position
        self.commits.count += 1
        transaction.clear()
