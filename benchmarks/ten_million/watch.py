"""Memory and processor time of every process that a piece runs, by what the process is for."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import psutil

from benchmarks.ten_million.repetition import repeating

LOOK_S: Final = 0.5
MIB: Final = 1 << 20
_KINDS: Final = (
    ("kafka.Kafka", "broker"),
    ("org.apache.spark", "spark_java"),
    ("pyspark.daemon", "spark_python"),
    ("metatide work", "worker"),
    ("metatide connect", "connector"),
    ("metatide demo", "writers"),
    ("metatide prewarm", "prewarm"),
    ("metatide rebuild", "rebuild"),
    ("metatide image", "image"),
    ("postgres", "postgres"),
)


class Watch:
    """Looks at the descendants of this process every half second."""

    def __init__(self) -> None:
        self._own = psutil.Process()
        self._mib: dict[str, int] = {}
        self._began = {key: seconds for key, _, seconds, _ in self._processes()}
        self._cpu: dict[tuple[int, float], tuple[str, float]] = {}

    def look(self) -> None:
        now: dict[str, list[tuple[int, int]]] = {}
        for key, kind, seconds, memory in self._processes():
            self._cpu[key] = kind, seconds - self._began.get(key, 0.0)
            now.setdefault(kind, []).append((memory.rss - memory.shared, memory.shared))
        for kind, sizes in now.items():
            # Shared pages, such as PostgreSQL's buffers, are counted once.
            size = sum(own for own, _ in sizes) + max(shared for _, shared in sizes)
            self._mib[kind] = max(self._mib.get(kind, 0), size // MIB)

    def figures(self) -> dict[str, dict[str, float]]:
        """The most memory that the processes of a kind had together, and their processor time."""
        cpu: dict[str, float] = {}
        for kind, seconds in self._cpu.values():
            cpu[kind] = cpu.get(kind, 0.0) + seconds
        return {
            kind: {"rss_mib_max": self._mib[kind], "cpu_s": round(cpu[kind], 1)}
            for kind in sorted(self._mib)
        }

    def _processes(self) -> Iterator[tuple[tuple[int, float], str, float, Any]]:
        for child in self._own.children():
            kind = _kind(child, "other")
            for process in (child, *_descendants(child)):
                try:
                    times, memory = process.cpu_times(), process.memory_info()
                    if not memory.rss:
                        # It has ended, and has no command line any more.
                        continue
                    key = process.pid, process.create_time()
                    yield key, _kind(process, kind), times.user + times.system, memory
                except psutil.NoSuchProcess:
                    continue


def _descendants(process: psutil.Process) -> list[psutil.Process]:
    try:
        return process.children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def _kind(process: psutil.Process, parent: str) -> str:
    try:
        line = " ".join(process.cmdline())
    except psutil.NoSuchProcess:
        return parent
    return next((kind for part, kind in _KINDS if part in line), parent)


@contextmanager
def watched() -> Iterator[dict[str, Any]]:
    """Adds to the figures what the processes took, and how many cores others used meanwhile."""
    figures: dict[str, Any] = {}
    watch, began, busy = Watch(), time.monotonic(), _busy_s()
    try:
        with repeating(watch.look, LOOK_S):
            yield figures
    finally:
        watch.look()
        processes = watch.figures()
        busy = _busy_s() - busy - sum(process["cpu_s"] for process in processes.values())
        figures["cores_of_others"] = round(max(0.0, busy) / (time.monotonic() - began), 2)
        figures["processes"] = processes


def _busy_s() -> float:
    """The processor time that the whole machine has used, but for that of this process."""
    machine, own = psutil.cpu_times(), psutil.Process().cpu_times()
    busy = machine.user + machine.nice + machine.system + machine.irq + machine.softirq
    return float(busy + machine.steal - own.user - own.system)


def bytes_of(folder: Path) -> int:
    """The disk space of a folder's files; of those with several links, each once."""
    sizes: dict[int, int] = {}
    for path in folder.rglob("*"):
        try:
            status = path.lstat()
        except FileNotFoundError:
            continue
        if path.is_file():
            # Blocks, because brokers reserve space for indexes that they don't use.
            sizes[status.st_ino] = 512 * status.st_blocks
    return sum(sizes.values())
