"""Checks that a worker's shards get what the topic has."""

import asyncio
import time
from collections.abc import Mapping
from typing import Final

from hive.errors import TopicError
from processors.worker.metrics import Metrics
from processors.worker.shard import Shard
from state.topic import TopicClient

WATCH_S: Final = 1.0
STUCK_S: Final = 2.0


class ArrivalWatch:
    """Moves the live consumer to where it should be after it has brought nothing for a while.

    The consumer may lose what it has fetched if it is moved in the middle of a fetch. And the
    topic may have lost what the store holds, if a broker leads that lacked it: then the shard
    is built again, or it would pass over what is written in the place of that.
    """

    def __init__(self, client: TopicClient, shards: Mapping[int, Shard], metrics: Metrics) -> None:
        self._client = client
        self._shards = shards
        self._metrics = metrics
        self._since: dict[int, tuple[int, float]] = {}
        """The offset that a shard waits for, and since when nothing has come."""

    async def run(self) -> None:
        """Watches until it is cancelled."""
        while True:
            await asyncio.sleep(WATCH_S)
            shards = dict(self._shards)
            try:
                ends = await asyncio.to_thread(self._client.ends, shards)
            except TopicError:
                continue
            now = time.monotonic()
            for number, shard in shards.items():
                # If not, it moved away meanwhile.
                if self._shards.get(number) is shard:
                    await self._look(number, shard, ends[number], now)

    async def _look(self, number: int, shard: Shard, end: int, now: float) -> None:
        shard.end = max(end, shard.position.offset)
        lag = end - shard.position.offset
        self._metrics.lag_records.labels(number).set(max(0, lag))
        awaited = shard.awaits
        if awaited is None or not lag:
            self._since.pop(number, None)
            return
        offset, began = self._since.setdefault(number, (awaited, now))
        if offset != awaited:
            self._since[number] = awaited, now
        elif now - began >= STUCK_S:
            del self._since[number]
            if lag > 0:
                await shard.refollow()
            else:
                shard.unfollow()
