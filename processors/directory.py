"""The directory of a worker: the stores of its shards, and the lock that keeps others out."""

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hive.errors import MachineError
from state.folders import make_folder, open_lock


def worker_path(data_dir: Path, name: str) -> Path:
    """The path where a worker of this name keeps its shards."""
    return data_dir / "workers" / name


class WorkerDirectory:
    """The directory of one worker; no other process writes there."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def store(self, shard: int) -> Path:
        return self.path / "shards" / str(shard)

    def shards(self) -> list[int]:
        """The shards that have a store."""
        folder = self.path / "shards"
        if not folder.exists():
            return []
        return sorted(int(store.name) for store in folder.iterdir() if store.name.isdecimal())

    def delete(self, shard: int) -> None:
        """Deletes the store of a shard, and what was left beside it when it was built or copied."""
        path = self.store(shard)
        for each in (path, *map(path.with_suffix, (".new", ".old", ".image"))):
            shutil.rmtree(each, ignore_errors=True)

    @contextmanager
    def owned(self) -> Iterator[None]:
        """Locks the directory until the block ends; refuses while another process has it."""
        make_folder(self.path)
        make_folder(self.store(0).parent)
        handle = open_lock(self.path / "lock")
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                owner = os.read(handle, 32).decode(errors="replace").strip()
                raise MachineError(
                    f"process {owner} works in {self.path}: stop it, or give this worker "
                    "another name (worker.name)"
                ) from None
            os.ftruncate(handle, 0)
            os.write(handle, f"{os.getpid()}\n".encode())
            yield
        finally:
            os.close(handle)

    def new(self, shard: int) -> Path:
        """A path for building a new store beside the old one; leftovers of a crash are deleted."""
        path = self.store(shard).with_suffix(".new")
        shutil.rmtree(path, ignore_errors=True)
        return path

    def scratch(self, shard: int) -> Path:
        """A path for a copy of the store that is about to be uploaded."""
        path = self.store(shard).with_suffix(".image")
        shutil.rmtree(path, ignore_errors=True)
        return path

    def swap_in(self, shard: int) -> None:
        """Replaces the old store by the newly built one.

        A crash in between leaves no store, never a half one.
        """
        path = self.store(shard)
        old = path.with_suffix(".old")
        shutil.rmtree(old, ignore_errors=True)
        if path.exists():
            path.rename(old)
        path.with_suffix(".new").rename(path)
        handle = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
        shutil.rmtree(old, ignore_errors=True)
