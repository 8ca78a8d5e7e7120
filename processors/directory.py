"""The directory of a worker: the stores of its shards, and the lock that makes them its own."""

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hive.errors import MachineError


def worker_path(data_dir: Path, name: str) -> Path:
    """Where a worker of this name keeps its shards."""
    return data_dir / "workers" / name


class WorkerDirectory:
    """Where one worker keeps its shards; no other process writes there."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def store(self, shard: int) -> Path:
        """Where the store of a shard stands."""
        return self.path / "shards" / str(shard)

    def shards(self) -> list[int]:
        """The shards of which there is a store."""
        found = self.path / "shards"
        if not found.exists():
            return []
        return sorted(int(one.name) for one in found.iterdir() if one.name.isdecimal())

    @contextmanager
    def owned(self) -> Iterator[None]:
        """Makes the directory ours until the end; refused while another process has it."""
        self.store(0).parent.mkdir(parents=True, exist_ok=True)
        path = self.path / "lock"
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
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
        """A place beside the store to build another one; what a crash left there is deleted."""
        path = self.store(shard).with_suffix(".new")
        shutil.rmtree(path, ignore_errors=True)
        return path

    def scratch(self, shard: int) -> Path:
        """A place for a copy of the store that is soon sent away."""
        path = self.store(shard).with_suffix(".image")
        shutil.rmtree(path, ignore_errors=True)
        return path

    def swap_in(self, shard: int) -> None:
        """Puts the store that was built anew in the place of the old one, which is deleted.

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
