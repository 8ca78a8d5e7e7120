"""The epoch that the topic has reached, whichever shards a process has."""

import asyncio
import random
from collections.abc import Callable, Iterable
from typing import Final

import structlog
from confluent_kafka import KafkaException

from connectors.publish import headers
from hive.errors import MetatideError, TopicError
from state.records.epochs import follows
from state.topic import Topic, TopicClient
from state.topic.client import Bounds
from state.topic.partitions import PartitionsReader

FIRST_S: Final = 0.1
EVERY_S: Final = 1.0
PARTITIONS_MAX: Final = 3
"""How many partitions are looked at: each epoch begins in all."""
LAST_RECORDS: Final = 8
"""How many of the last records of each partition are looked at: a connector that wakes late may
still write to an earlier epoch."""
_LOOK_S: Final = 0.05
_LOOKS_MAX: Final = 100

log = structlog.get_logger(__name__)


class EpochWatch:
    """Learns the epoch from the ends of the topic while no shard here follows it.

    A worker may have no shards, or such as are still catching up, and images may be of an earlier
    epoch. What the database has now would seem to be older than it is if it were counted to that.
    """

    def __init__(
        self,
        topic: Callable[[], Topic | None],
        live_epochs: Callable[[], Iterable[int]] = tuple,
    ) -> None:
        """`topic` gives the topic once it is there; `live_epochs` the epochs of the shards that
        follow it."""
        self._topic = topic
        self._live_epochs = live_epochs
        self._epoch: int | None = None

    @property
    def epoch(self) -> int | None:
        """The highest epoch that was seen; None before any was."""
        self._learn(self._live_epochs())
        return self._epoch

    async def run(self) -> None:
        """Watches until it is cancelled."""
        while True:
            try:
                if not self._has_live_epochs and (topic := self._topic()) is not None:
                    await self._watch(topic)
            except (MetatideError, KafkaException) as error:
                log.debug("the epoch can't be read from the topic", why=str(error))
            await asyncio.sleep(FIRST_S if self._epoch is None else EVERY_S)

    @property
    def _has_live_epochs(self) -> bool:
        """Whether shards here tell the epoch."""
        epochs = list(self._live_epochs())
        self._learn(epochs)
        return bool(epochs)

    async def _watch(self, topic: Topic) -> None:
        """Reads the ends of the topic until shards here tell the epoch."""
        client = TopicClient(topic.servers, topic.name, topic.security)
        reader = await asyncio.to_thread(PartitionsReader, topic)
        try:
            while not self._has_live_epochs:
                bounds = await asyncio.to_thread(_some_bounds, client, topic.shards)
                starts = {n: max(at.first, at.end - LAST_RECORDS) for n, at in bounds.items()}
                ends = {n: at.end for n, at in bounds.items() if starts[n] < at.end}
                epochs = await _epochs(reader, {n: starts[n] for n in ends}, ends)
                if epochs is not None:
                    self._learn([_last(epochs)])
                await asyncio.sleep(EVERY_S)
        finally:
            await asyncio.to_thread(reader.close)

    def _learn(self, epochs: Iterable[int]) -> None:
        for epoch in epochs:
            if self._epoch is None or follows(epoch, self._epoch):
                self._epoch = epoch


def _some_bounds(client: TopicClient, shards: int) -> dict[int, Bounds]:
    """The bounds of some partitions. One that has no leader now keeps no other from telling."""
    bounds: dict[int, Bounds] = {}
    fault: TopicError | None = None
    for shard in random.sample(range(shards), min(shards, 2 * PARTITIONS_MAX)):
        try:
            bounds |= client.bounds([shard])
        except TopicError as error:
            fault = error
        if len(bounds) == PARTITIONS_MAX:
            break
    if fault is not None and not bounds:
        raise fault
    return bounds


async def _epochs(
    reader: PartitionsReader, starts: dict[int, int], ends: dict[int, int]
) -> set[int] | None:
    """The epochs of these records, which are none or a few; None if they don't come in time."""
    epochs: set[int] = set()
    awaited = set(starts)
    reader.begin(starts)
    for _ in range(_LOOKS_MAX):
        for message in reader.arrived():
            head, shard = headers.read(message.headers()), message.partition()
            if head is not None:
                epochs.add(head.epoch)
            if message.offset() >= ends[shard] - 1:
                awaited.discard(shard)
        if not awaited:
            break
        await asyncio.sleep(_LOOK_S)
    # A consumer that keeps its partitions fetches without end.
    reader.begin({})
    # Each epoch begins in all partitions, so a few of them tell it.
    return epochs if epochs or not awaited else None


def _last(epochs: Iterable[int]) -> int:
    """The epoch of these that counts; 0 of none. One that was forged counts as little as for the
    shards."""
    last, *later = sorted(epochs) or [0]
    for epoch in later:
        if follows(epoch, last):
            last = epoch
    return last
