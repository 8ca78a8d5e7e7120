"""The live consumer of a worker, in the place of Faust: membership, deliveries, moves."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, Final

from processors.consumer.group import Membership
from processors.live_record import LiveRecord
from state.topic import Topic
from tests.simulation.broker import Brokers, GroupMember
from tests.simulation.event_loop import SimulatedLoop

_FETCH_RECORDS_MAX: Final = 500
_COMMIT_S: Final = 1.0


class SimulatedGroup:
    """Does what was seen of Faust: it delivers again from the committed offset after a rebalance,
    before it says which shards are whose."""

    def __init__(
        self,
        brokers: Brokers,
        topic: Topic,
        membership: Membership,
        *,
        offer: Callable[[int, Sequence[LiveRecord]], None],
        assigned: Callable[[frozenset[int]], None],
        unsettled: Callable[[], None],
    ) -> None:
        self._brokers = brokers
        self._scheduler = brokers.scheduler
        self._topic = topic
        self._membership = membership
        self._offer = offer
        self._assigned = assigned
        self._unsettled = unsettled
        self._next: dict[int, int] = {}
        self._is_settled = False
        self._arrived = asyncio.Event()
        self._loop: SimulatedLoop
        self._tell = self._hear

    async def run(self) -> None:
        """Runs until it is cancelled."""
        loop = asyncio.get_running_loop()
        assert isinstance(loop, SimulatedLoop)
        self._loop = loop
        group = self._brokers.group(self._membership.group)
        name = self._membership.name
        member = GroupMember(name, self._topic.name, loop.process, self._revoke, self._share)
        group.join(member)
        partitions = self._brokers.topics[self._topic.name].partitions
        for partition in partitions:
            partition.readers[self._tell] = None
        try:
            await self._deliver()
        finally:
            for partition in partitions:
                partition.readers.pop(self._tell, None)
            if loop.process.alive:
                group.leave(member)

    async def follow(self, shard: int, offset: int) -> bool:
        """Moves the consumer of a shard to an offset; False when that isn't possible now."""
        await asyncio.sleep(self._brokers.delay_s((0.000_5, 0.004)))
        if not self._is_settled or shard not in self._next or self._brokers.down:
            return False
        self._next[shard] = offset
        self._arrived.set()
        return self._is_settled

    def owner(self, shard: int) -> str | None:
        """The address of a shard's owner as of the last rebalance."""
        assigned = self._brokers.group(self._membership.group).assigned
        return next((f"{name}:1" for name, shards in assigned.items() if shard in shards), None)

    async def _deliver(self) -> None:
        group = self._brokers.group(self._membership.group)
        committed_s = self._scheduler.now
        while True:
            await self._arrived.wait()
            self._arrived.clear()
            for shard in list(self._next):
                records = self._fetch(shard)
                if records:
                    self._offer(shard, records)
                    await asyncio.sleep(0)
                    if len(records) == _FETCH_RECORDS_MAX:
                        self._arrived.set()
            if self._scheduler.now - committed_s > _COMMIT_S and self._is_settled:
                committed_s = self._scheduler.now
                for shard, offset in self._next.items():
                    group.committed[self._topic.name, shard] = offset

    def _fetch(self, shard: int) -> list[LiveRecord]:
        partition = self._brokers.topics[self._topic.name].partitions[shard]
        now = self._scheduler.now
        if self._brokers.down or now < partition.stuck_until:
            self._scheduler.after(0.5, self._wake)
            return []
        offset = self._next[shard]
        if not partition.first <= offset <= partition.end:
            # Without a valid offset it goes on at the end.
            self._next[shard] = partition.end
            return []
        fetched = partition.readable(offset, _FETCH_RECORDS_MAX, now)
        if fetched:
            self._next[shard] = fetched[-1][0] + 1
        return [LiveRecord(at, record.value, record.written_ms) for at, record in fetched]

    def _revoke(self) -> None:
        self._is_settled = False
        self._later(self._unsettled)

    def _share(self, shards: frozenset[int]) -> None:
        partitions = self._brokers.topics[self._topic.name].partitions
        committed = self._brokers.group(self._membership.group).committed

        def take() -> None:
            self._next = {
                shard: committed.get((self._topic.name, shard), partitions[shard].end)
                for shard in sorted(shards)
            }
            self._arrived.set()
            self._loop.call_later(0.02, settle)

        def settle() -> None:
            self._is_settled = True
            self._assigned(shards)

        self._later(take)

    def _hear(self, readable_s: float) -> None:
        self._scheduler.after(max(0.0, readable_s - self._scheduler.now), self._wake)

    def _wake(self) -> None:
        self._later(self._arrived.set)

    def _later(self, work: Callable[[], Any]) -> None:
        """Runs something in the process's event loop, once the process runs."""
        if self._loop.process.alive:
            self._loop.call_soon_threadsafe(work)
