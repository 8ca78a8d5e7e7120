"""The room that a worker may take: above it shards stop applying until there is some again."""

import asyncio
import os
import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psutil

CHECK_EVERY_S: Final = 1.0
# Once over a limit, a worker waits for more room than would just do, or it would go to and fro.
SLACK: Final = 0.95


@dataclass(frozen=True)
class Allowed:
    """What a worker may take; None is no limit."""

    disk_bytes_max: int | None = None
    disk_free_bytes_min: int = 256 << 20
    memory_bytes_max: int | None = None


class Limits:
    """Looks at the disk and at the process's memory every so often."""

    def __init__(self, path: Path, allowed: Allowed) -> None:
        self.fault: str | None = None
        self.disk_bytes = 0
        self.disk_free_bytes = 0
        self.memory_bytes = 0
        self._path = path
        self.allowed = allowed
        self._room = asyncio.Event()
        self._process = psutil.Process()

    async def room(self) -> None:
        """Returns when nothing is over its limit."""
        await self._room.wait()

    async def check(self) -> None:
        """Looks once."""
        await asyncio.to_thread(self._look)
        self.fault = self._over()
        if self.fault is None:
            self._room.set()
        else:
            self._room.clear()

    def _look(self) -> None:
        self.disk_bytes = bytes_below(self._path)
        self.memory_bytes = self._process.memory_info().rss
        self.disk_free_bytes = shutil.disk_usage(self._path).free

    def _over(self) -> str | None:
        free = self.disk_free_bytes
        share = 1.0 if self.fault is None else SLACK
        if free * share < self.allowed.disk_free_bytes_min:
            return f"only {free >> 20} MiB are free on the disk of {self._path}: make room there"
        one = self.allowed
        for what, used, most, key in (
            ("its stores take", self.disk_bytes, one.disk_bytes_max, "worker.disk_max_mib"),
            ("it takes", self.memory_bytes, one.memory_bytes_max, "worker.memory_max_mib"),
        ):
            if most is not None and used > most * share:
                return f"{what} {used >> 20} MiB, {key} is {most >> 20}: raise it or add a worker"
        return None


def bytes_below(path: Path) -> int:
    """What the files of a directory take; those that vanish meanwhile count as nothing."""
    total = 0
    for folder, _, names in os.walk(path):
        for name in names:
            with suppress(FileNotFoundError):
                total += Path(folder, name).stat().st_size
    return total
