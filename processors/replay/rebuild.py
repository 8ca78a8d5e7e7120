"""Rebuilds stores from the topic, several at a time, while their worker is stopped."""

import multiprocessing
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final, NamedTuple

import structlog

from processors.directory import WorkerDirectory
from processors.freed_memory import limit_freed_memory
from processors.replay.cores import usable_cores
from processors.replay.replay import Progress, rebuild
from state.store import MemoryBudget, StorePosition
from state.topic import Topic

PROCESS_BYTES_MIN: Final = 16 << 20
"""The least share of the memory for which a process is started."""
_POLL_S: Final = 0.1

Report = Callable[[Progress], None]

log = structlog.get_logger(__name__)


class Rebuilt(NamedTuple):
    """A shard that was rebuilt, and its position."""

    shard: int
    position: StorePosition


def rebuild_shards(
    topic: Topic, shards: Sequence[int], path: Path, memory_bytes: int, report: Report
) -> list[Rebuilt]:
    """Rebuilds these shards in the directory of a worker, with one process per core as far as
    there is memory for them."""
    directory = WorkerDirectory(path)
    with directory.owned():
        processes = min(len(shards), usable_cores(), memory_bytes // PROCESS_BYTES_MIN)
        if processes <= 1:
            budget = MemoryBudget(memory_bytes)
            return [_rebuild(topic, shard, directory, budget, report) for shard in shards]
        return _in_processes(topic, shards, path, memory_bytes // processes, report, processes)


def _rebuild(
    topic: Topic, shard: int, directory: WorkerDirectory, budget: MemoryBudget, report: Report
) -> Rebuilt:
    position = rebuild(topic, shard, directory.new(shard), budget, report=report)
    directory.swap_in(shard)
    return Rebuilt(shard, position)


def _in_processes(
    topic: Topic,
    shards: Sequence[int],
    path: Path,
    memory_bytes: int,
    report: Report,
    processes: int,
) -> list[Rebuilt]:
    # A forked child would rely on threads of RocksDB and librdkafka, which don't survive a fork.
    context = multiprocessing.get_context("spawn")
    # Without a lock, which a process that is killed would never release: a report is so short that
    # the kernel writes it whole.
    reports, sender = context.Pipe(duplex=False)
    with ProcessPoolExecutor(processes, context, _set_up, (path, memory_bytes, sender)) as pool:
        futures = {pool.submit(_work, topic, shard): shard for shard in shards}
        try:
            _watch(futures, reports, report)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
        finally:
            # Whoever reports to nobody fails, rather than wait for a reader.
            reports.close()
            sender.close()
        return [future.result() for future in futures]


def _watch(
    futures: Mapping[Future[Rebuilt], int], reports: "Connection[Any, Any]", report: Report
) -> None:
    """Passes on reports until all shards are done. After the first failure no other begins."""
    failed: Future[Rebuilt] | None = None
    while True:
        done = all(future.done() for future in futures)
        if failed is None:
            failed = next(filter(_has_failed, futures), None)
            if failed is not None:
                log.error(
                    "a shard wasn't rebuilt; those that have begun are completed",
                    shard=futures[failed],
                    error=str(failed.exception()),
                )
                for future in futures:
                    future.cancel()
        if reports.poll(0 if done else _POLL_S):
            report(reports.recv())
        elif done:
            break
    if failed is not None:
        failed.result()


def _has_failed(future: Future[Rebuilt]) -> bool:
    return future.done() and not future.cancelled() and future.exception() is not None


class _Process(NamedTuple):
    """The setup of a child process."""

    directory: WorkerDirectory
    budget: MemoryBudget
    report: Report


_process: _Process | None = None


def _set_up(path: Path, memory_bytes: int, reports: "Connection[Any, Any]") -> None:
    global _process
    limit_freed_memory()
    _process = _Process(WorkerDirectory(path), MemoryBudget(memory_bytes), reports.send)


def _work(topic: Topic, shard: int) -> Rebuilt:
    assert _process is not None
    return _rebuild(topic, shard, _process.directory, _process.budget, _process.report)
