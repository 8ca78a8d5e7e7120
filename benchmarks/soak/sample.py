"""What processes and folders take at a moment."""

import re
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import psutil

from benchmarks.ten_million.watch import bytes_of
from tests.support.workers import WorkerProcess

MIB: Final = 1 << 20
_STORES: Final = re.compile(r"^metatide_store_memory_bytes (\S+)$", re.MULTILINE)
_THRIFT: Final = re.compile(
    r"^metatide_thrift_(answers|relayed)_total\{.*?(?:source=\"(\w+)\".*)?\} (\S+)$", re.MULTILINE
)


def processes(roots: Mapping[str, psutil.Process]) -> dict[str, dict[str, float]]:
    """By name: memory, open files, threads, connections and processor time of a process with its
    children.
    """
    return {name: _process(root) for name, root in roots.items()}


def folders(paths: Mapping[str, Path]) -> dict[str, float]:
    """The MiB on disk, by name."""
    return {name: round(bytes_of(path) / MIB, 2) for name, path in paths.items()}


def of_worker(worker: WorkerProcess) -> dict[str, Any]:
    """What the worker's metrics tell; empty while it doesn't answer."""
    page = worker.get("/metrics")
    if page is None:
        return {}
    thrift: Counter[str] = Counter()
    for _, source, count in _THRIFT.findall(page.text):
        thrift[source or "metastore"] += int(float(count))
    [stores_bytes] = _STORES.findall(page.text)
    return {
        "stores_in_memory_mib": round(float(stores_bytes) / MIB, 2),
        "thrift_answers": dict(thrift),
    }


def _process(root: psutil.Process) -> dict[str, float]:
    sums: dict[str, float] = {}
    for figures in _with_children(root):
        for name, value in figures.items():
            sums[name] = sums.get(name, 0) + value
    return {name: round(value, 2) for name, value in sums.items()}


def _with_children(root: psutil.Process) -> Iterator[dict[str, Any]]:
    for process in (root, *root.children(recursive=True)):
        try:
            with process.oneshot():
                memory, cpu = process.memory_info(), process.cpu_times()
                yield {
                    # Shared pages, such as PostgreSQL's buffers, would be counted many times.
                    "private_mib": (memory.rss - memory.shared) / MIB,
                    "open_files": process.num_fds(),
                    "threads": process.num_threads(),
                    "connections": len(process.net_connections("tcp")),
                    "cpu_s": cpu.user + cpu.system,
                }
        except psutil.NoSuchProcess:
            continue


class Clock:
    """Looks that are due at equal distances."""

    def __init__(self, every_s: float, seconds: float) -> None:
        self._every_s, self._seconds = every_s, seconds

    def looks(self) -> Iterator[float]:
        """The seconds since the first look, at each."""
        began, number = time.monotonic(), 0
        while (since := time.monotonic() - began) <= self._seconds:
            yield since
            number += 1
            time.sleep(max(0.0, began + number * self._every_s - time.monotonic()))
