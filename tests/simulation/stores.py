"""Simulated disks: after a crash, a store has what was flushed, and perhaps some commits more."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any, NamedTuple, Self

from hive.errors import ClosedStoreError, ColdShardError, OtherStoreError
from processors.replay.bulk_replay import UNFLUSHED_BYTES_MAX
from state.store import Identity, MemoryStore, Overlay, StorePosition
from state.store.memory import MemorySnapshot
from tests.simulation.scheduler import Scheduler


class _Commit(NamedTuple):
    ranges: list[tuple[bytes, bytes]]
    changes: dict[bytes, bytes | None]
    position: StorePosition


class _Files:
    """The files of one store."""

    def __init__(self, identity: Identity) -> None:
        self.identity = identity
        self.entries: dict[bytes, bytes] = {}
        self.position = StorePosition()
        self.unflushed: list[_Commit] = []
        self.torn = False

    def flush(self, count: int | None = None) -> None:
        """Makes the oldest commits durable, or all of them; the others are lost."""
        for commit in self.unflushed[:count]:
            for start, end in commit.ranges:
                for key in [key for key in self.entries if start <= key < end]:
                    del self.entries[key]
            for key, value in commit.changes.items():
                if value is None:
                    self.entries.pop(key, None)
                else:
                    self.entries[key] = value
            self.position = commit.position
        self.unflushed.clear()


class Disk:
    """The stores of one worker."""

    def __init__(self) -> None:
        self.files: dict[Path, _Files] = {}
        self.free_bytes = 1 << 40

    def crash(self, random: Random) -> None:
        """Cuts each store off after a commit."""
        for files in self.files.values():
            files.flush(random.randint(0, len(files.unflushed)))

    def lose(self, random: Random) -> None:
        if self.files:
            del self.files[random.choice(sorted(self.files))]

    def tear(self, random: Random) -> None:
        if self.files:
            self.files[random.choice(sorted(self.files))].torn = True


class StorePath:
    """The path of a store, as far as shards use it."""

    def __init__(self, disk: Disk, path: Path) -> None:
        self.disk = disk
        self.path = path

    def exists(self) -> bool:
        return self.path in self.disk.files

    def make(
        self, identity: Identity, entries: dict[bytes, bytes], position: StorePosition
    ) -> None:
        """Makes a store here with this content."""
        files = self.disk.files[self.path] = _Files(identity)
        files.entries, files.position = entries, position

    def __str__(self) -> str:
        return str(self.path)


class SimulatedDirectory:
    """The directory of a worker."""

    def __init__(self, disk: Disk, path: Path) -> None:
        self.path = path
        self._disk = disk

    def store(self, shard: int) -> StorePath:
        return StorePath(self._disk, self.path / str(shard))

    def new(self, shard: int) -> StorePath:
        path = StorePath(self._disk, self.path / f"{shard}.new")
        self._disk.files.pop(path.path, None)
        return path

    def scratch(self, shard: int) -> StorePath:
        return StorePath(self._disk, self.path / f"{shard}.image")

    def swap_in(self, shard: int) -> None:
        files = self._disk.files
        files[self.path / str(shard)] = files.pop(self.path / f"{shard}.new")

    def shards(self) -> list[int]:
        names = (path.name for path in self._disk.files if path.parent == self.path)
        return sorted(int(name) for name in names if name.isdecimal())

    def delete(self, shard: int) -> None:
        self._disk.files.pop(self.path / str(shard), None)

    @contextmanager
    def owned(self) -> Iterator[None]:
        yield


def set_aside(path: StorePath) -> Path:
    """Removes a damaged store."""
    del path.disk.files[path.path]
    return path.path.with_suffix(".aside")


class SimulatedStore(MemoryStore):
    """A store on a simulated disk. The writer's process may end between any two commits."""

    def __init__(
        self,
        scheduler: Scheduler,
        path: StorePath,
        identity: Identity,
        *,
        families: Sequence[Any],
        budget: object,
    ) -> None:
        super().__init__()
        self._scheduler = scheduler
        self._process = scheduler.strand.process
        self._random = scheduler.random(f"{path} at {scheduler.now}")
        scheduler.sleep(self._random.uniform(0.01, 0.2))
        files = path.disk.files.setdefault(path.path, _Files(identity))
        if files.torn:
            raise ColdShardError(f"the store in {path} is damaged")
        if files.identity != identity:
            raise OtherStoreError(f"the store in {path} is another one")
        # What an earlier life of the process didn't close is gone.
        files.flush(0)
        self._files = files
        self.path = path.path
        self.identity = identity
        self.is_open = True
        self._view.entries.update(files.entries)
        self._position = files.position

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def snapshot(self) -> MemorySnapshot:
        self._check()
        return super().snapshot()

    def transaction(self) -> Overlay:
        self._check()
        return super().transaction()

    def commit(self, transaction: Overlay, position: StorePosition) -> None:
        self._check()
        if self._process.alive:
            self._files.unflushed.append(
                _Commit(list(transaction.ranges), dict(transaction.changes), position)
            )
        super().commit(transaction, position)

    @property
    def unflushed_bytes(self) -> int:
        """As much for each commit as makes a flush due, so that simulated workers flush often."""
        return len(self._files.unflushed) * 2 * UNFLUSHED_BYTES_MAX

    def flush(self) -> StorePosition:
        self._check()
        if self._process.alive:
            self._scheduler.sleep(self._random.uniform(0.001, 0.02))
            self._files.flush()
        return self._files.position

    def defer_compactions(self, *, deferred: bool) -> None:
        """Does nothing: there are no files."""

    def copy(self) -> tuple[dict[bytes, bytes], StorePosition]:
        """What a checkpoint holds, which flushes first."""
        self.flush()
        return dict(self._files.entries), self._files.position

    def close(self) -> None:
        if self.is_open:
            self.flush()
        self.is_open = False

    def _check(self) -> None:
        if not self.is_open:
            raise ClosedStoreError("the store is closed")
        if self._files.torn:
            raise ColdShardError(f"the store in {self.path} is damaged")
