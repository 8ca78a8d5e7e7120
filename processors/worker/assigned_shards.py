"""The shards that the group has assigned to a worker, and a task for each."""

import asyncio
from collections.abc import Callable

import structlog

from processors.directory import WorkerDirectory
from processors.worker.shard import Shard

log = structlog.get_logger(__name__)


class AssignedShards:
    """Opens assigned shards, closes lost ones, and keeps the rest open through a rebalance."""

    def __init__(self, new_shard: Callable[[int], Shard], lose: Callable[[int], None]) -> None:
        """`lose` is called with each shard that another worker has now."""
        self._new_shard = new_shard
        self._lose = lose
        self.by_number: dict[int, Shard] = {}
        self.were_assigned = False
        """Whether the group has shared out its shards since the worker began."""
        self.are_closing = False
        """Whether they close for good."""
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._unended: set[asyncio.Task[None]] = set()
        """The tasks of all shards, and of lost ones that are still closing."""
        self._turns: dict[int, asyncio.Lock] = {}
        """For each shard that was ever here, the lock that lets one task at a time have its
        store."""

    def assign(self, assigned: frozenset[int]) -> None:
        """Makes these the worker's shards."""
        if self.are_closing:
            return
        self.were_assigned = True
        shards = self.by_number
        lost, gained = sorted(shards.keys() - assigned), sorted(assigned - shards.keys())
        log.info("shards were shared out", gained=gained, lost=lost, shards=len(assigned))
        for number in lost:
            del shards[number]
            self._lose(number)
            self._tasks.pop(number).cancel()
        for number in gained:
            shard = shards[number] = self._new_shard(number)
            task = self._tasks[number] = asyncio.create_task(self._run(number, shard))
            self._unended.add(task)
            task.add_done_callback(self._unended.discard)
        for number in assigned:
            shards[number].unfollow()

    async def delete_others(self, directory: WorkerDirectory) -> None:
        """Deletes the stores of shards that other workers have now, to make room. As long as there
        is room they stay, since a shard that comes back is up to date sooner."""
        if not self.were_assigned or self.are_closing:
            return
        for number in directory.shards():
            turn = self._turns.setdefault(number, asyncio.Lock())
            if number in self.by_number or turn.locked():
                continue
            async with turn:
                await asyncio.to_thread(directory.delete, number)
            log.warning("the store of a shard that others have was deleted", shard=number)

    async def hold(self) -> None:
        """Keeps shards open until it is cancelled; they close while the worker leaves the group,
        which may take longer than closing."""
        try:
            await asyncio.Event().wait()
        finally:
            self.are_closing = True
            for task in self._tasks.values():
                task.cancel()
            # A lost shard was cancelled once: twice, it would not wait for its threads.
            if self._unended:
                await asyncio.wait(self._unended)
            self.by_number.clear()

    async def _run(self, number: int, shard: Shard) -> None:
        """Runs a shard once whoever had it before has closed its store. Many may be waiting, each
        of which may be cancelled before its turn."""
        async with self._turns.setdefault(number, asyncio.Lock()):
            await shard.run()
