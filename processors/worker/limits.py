"""The limits of a worker: above them its shards stop applying until there is room again."""

import asyncio
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psutil
import structlog

from processors.worker.disk_usage import DiskUsage

CHECK_EVERY_S: Final = 1.0
SLACK: Final = 0.95
"""The share of a limit to which a worker must come down that was above it, or it would stop and
start all the time."""

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Allowed:
    """The limits; None means no limit."""

    disk_bytes_max: int | None = None
    disk_free_bytes_min: int = 256 << 20
    memory_bytes_max: int | None = None


class Limits:
    """Watches the disk and the memory of the process."""

    def __init__(self, path: Path, allowed: Allowed) -> None:
        self.fault: str | None = None
        """Which limit is exceeded, and what to do; None if none is."""
        self.lacks_disk = False
        """Whether it is the disk that is over a limit."""
        self.disk_bytes = 0
        self.disk_free_bytes = 0
        self.memory_bytes = 0
        self._path = path
        self._disk_usage = DiskUsage(path)
        self.allowed = allowed
        self._room = asyncio.Event()
        self._measured = True
        self._process = psutil.Process()

    async def room(self) -> None:
        """Returns once nothing exceeds its limit."""
        await self._room.wait()

    async def check(self) -> None:
        """Measures disk and memory once. What can't be measured now counts as before."""
        try:
            await asyncio.to_thread(self._look)
        except OSError as error:
            # Once a fault: this is tried each second.
            if self._measured:
                log.warning("disk and memory can't be measured now", why=str(error))
            self._measured = False
        else:
            self._measured = True
        was_over = self.fault is not None
        self.fault = self._find_fault()
        if self.fault is None:
            self._room.set()
        else:
            self._room.clear()
        if was_over and self.fault is None:
            log.info("there is room again")
        elif self.fault is not None and not was_over:
            log.error("shards stop for lack of room", why=self.fault)

    def _look(self) -> None:
        self.memory_bytes = self._process.memory_info().rss
        self.disk_free_bytes = shutil.disk_usage(self._path).free
        self.disk_bytes = self._disk_usage.look()

    def _find_fault(self) -> str | None:
        share = 1.0 if self.fault is None else SLACK
        fault = self._disk_fault(share)
        self.lacks_disk = fault is not None
        if fault is None:
            most = self.allowed.memory_bytes_max
            fault = _fault(share, "it takes", self.memory_bytes, most, "worker.memory_max_mib")
        return fault

    def _disk_fault(self, share: float) -> str | None:
        free, most = self.disk_free_bytes, self.allowed.disk_bytes_max
        if free * share < self.allowed.disk_free_bytes_min:
            return f"only {free >> 20} MiB are free on the disk of {self._path}: make room there"
        return _fault(share, "its stores take", self.disk_bytes, most, "worker.disk_max_mib")


def _fault(share: float, what: str, used: int, most: int | None, key: str) -> str | None:
    """What is said of a size that exceeds this share of its limit; None if it doesn't."""
    if most is None or used <= most * share:
        return None
    return f"{what} {used >> 20} MiB, {key} is {most >> 20}: raise it or add a worker"
