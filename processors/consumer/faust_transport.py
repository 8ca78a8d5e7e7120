"""Faust's Kafka transport, with seven changes.

1. A message holds all records that were fetched, of all partitions. For each message Faust takes
   several turns of the event loop: beside reads, a message a partition made records wait for 0.3 s.
   Shards judge each record by its offset; Faust drops none, or a shard's move would cost others
   theirs.
2. A commit of offsets gives up soon. Without brokers it would hold up everything else, even a stop.
3. A consumer rejoins the group under the member id that it had before, and tells that id.
4. Compressed batches are inflated within a limit.
5. A damaged batch concerns its shard alone.
6. A consumer tells in which rack it is, so that it may read from the nearest replica.
7. Brokers don't create the topic when a consumer asks for it: it would have other settings.
"""

import asyncio
import functools
import itertools
import sys
from collections.abc import Mapping
from typing import Any, Final

import uvloop
from aiokafka.client import AIOKafkaClient
from aiokafka.protocol.metadata import MetadataRequest
from faust.transport.drivers import aiokafka
from faust.types import TP

from processors.consumer.fetched_records import read_past_damage
from processors.consumer.inflate import limit_batches

COMMIT_TIMEOUT_S: Final = 1.0

Fetched = dict[TP, list[Any]]
"""aiokafka's records by partition."""

limit_batches()
read_past_damage()
vars(sys.modules[AIOKafkaClient.__module__])["MetadataRequest"] = functools.partial(
    MetadataRequest, allow_auto_topic_creation=False
)


class _Thread(aiokafka.AIOKafkaConsumerThread):
    async def on_start(self) -> None:
        """Sets the member id in time: Faust subscribes, and thereby joins the group, only later."""
        await super().on_start()
        transport: Any = self.transport
        self._coordinator.member_id = transport.member_id

    def _create_worker_consumer(self, transport: Any) -> Any:
        consumer: Any = super()._create_worker_consumer(transport)
        consumer._client_rack = transport.rack  # noqa: SLF001
        return consumer

    @property
    def member_id(self) -> str:
        member_id: str = self._coordinator.member_id
        return member_id

    @property
    def _coordinator(self) -> Any:
        consumer: Any = self._consumer
        return consumer._coordinator  # noqa: SLF001

    async def _commit(self, offsets: Mapping[TP, int]) -> bool:
        try:
            async with asyncio.timeout(COMMIT_TIMEOUT_S):
                return await super()._commit(offsets)
        except TimeoutError:
            # Commits serve lag tools only; the next one supersedes this one.
            return False


class _NoReadOffsets(dict[TP, int | None]):
    """The read offsets by which Faust would drop a message: it knows none."""

    def __getitem__(self, where: TP) -> None:
        return None

    def __setitem__(self, where: TP, offset: int | None) -> None:
        return None


class _Consumer(aiokafka.Consumer):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._read_offset = _NoReadOffsets()

    def _new_consumer_thread(self) -> _Thread:
        thread = _Thread(
            self, loop=self.loop, beacon=self.beacon, thread_loop=uvloop.new_event_loop()
        )
        # It ends with the thread, as the loop that Faust would have made.
        thread._close_thread_loop_on_stop = True  # noqa: SLF001
        transport: Any = self.transport
        transport.thread = thread
        return thread

    @property
    def member_id(self) -> str:
        """The id under which the group knows this member."""
        thread: Any = self._thread
        member_id: str = thread.member_id
        return member_id

    async def _getmany(
        self, active_partitions: set[TP] | None, timeout: float
    ) -> dict[TP, list[Fetched]]:
        by_partition = await super()._getmany(active_partitions, timeout)
        fetched = {where: records for where, records in by_partition.items() if records}
        for where, records in fetched.items():
            self._acked[where].append(records[-1].offset)
        return {where: [fetched] for where in itertools.islice(fetched, 1)}

    def _to_message(self, where: TP, fetched: Fetched) -> Any:
        message = super()._to_message(where, fetched[where][-1])
        message.value = fetched  # type: ignore[assignment]
        return message

    async def _add_gap(self, where: TP, offset_from: int, offset_to: int) -> None:
        """Does nothing: the records between the messages' offsets are no gap in the topic."""

    def _new_offset(self, where: TP) -> int | None:
        # The last one stands for all: an agent takes records in their order.
        acknowledged = self._acked[where]
        if not acknowledged:
            return None
        last = acknowledged[-1]
        acknowledged.clear()
        self._acked_index[where].clear()
        return last + 1


class Transport(aiokafka.Transport):
    """A transport whose messages carry aiokafka's records by partition as their value."""

    Consumer = _Consumer
    member_id = ""
    """The member id to join with; a group that doesn't know it takes it for a new member."""
    rack: str | None = None
    """Where the consumer is, in the brokers' words."""
    thread: _Thread | None = None
    """The consumer's thread, once there is a consumer."""

    def close_unused_loop(self) -> None:
        """Closes the loop of a consumer whose thread never ran: nobody else does, and it holds
        files open."""
        if self.thread is not None and self.thread._thread is None:  # noqa: SLF001
            self.thread.thread_loop.close()
