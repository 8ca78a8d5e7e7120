"""Faust's Kafka transport, with three changes.

1. One of its messages is all that a fetch brought of a partition. What Faust does for a message,
   in three turns of the event loop, costs several times as much as folding a record.
2. A commit of offsets gives up soon. Without brokers it would hold up all else, even the end.
3. It joins the group as the member that it was before, and says as which one it did.
"""

import asyncio
from collections.abc import Mapping
from typing import Any, Final

from faust.transport.drivers import aiokafka
from faust.types import TP

COMMIT_TIMEOUT_S: Final = 1.0


class _Thread(aiokafka.AIOKafkaConsumerThread):
    async def on_start(self) -> None:
        """Faust subscribes later, and by that it joins the group."""
        await super().on_start()
        transport: Any = self.transport
        self._coordinator.member_id = transport.member_id

    @property
    def member_id(self) -> str:
        found: str = self._coordinator.member_id
        return found

    @property
    def _coordinator(self) -> Any:
        consumer: Any = self._consumer
        return consumer._coordinator  # noqa: SLF001

    async def _commit(self, offsets: Mapping[TP, int]) -> bool:
        try:
            async with asyncio.timeout(COMMIT_TIMEOUT_S):
                return await super()._commit(offsets)
        except TimeoutError:
            # They are for lag tools; the next commit tells more.
            return False


class _Consumer(aiokafka.Consumer):
    def _new_consumer_thread(self) -> _Thread:
        return _Thread(self, loop=self.loop, beacon=self.beacon)

    @property
    def member_id(self) -> str:
        """As whom the group knows it."""
        thread: Any = self._thread
        found: str = thread.member_id
        return found

    async def _getmany(
        self, active_partitions: set[TP] | None, timeout: float
    ) -> dict[TP, list[list[Any]]]:
        fetched = await super()._getmany(active_partitions, timeout)
        return {where: [records] for where, records in fetched.items() if records}

    def _to_message(self, where: TP, records: list[Any]) -> Any:
        message = super()._to_message(where, records[-1])
        message.value = records  # type: ignore[assignment]
        return message

    async def _add_gap(self, where: TP, offset_from: int, offset_to: int) -> None:
        """The other records of a fetch are no gap in the topic."""

    def _new_offset(self, where: TP) -> int | None:
        # One agent acknowledges one message after the other, so the last one stands for all.
        acknowledged = self._acked[where]
        if not acknowledged:
            return None
        last = acknowledged[-1]
        acknowledged.clear()
        self._acked_index[where].clear()
        return last + 1


class Transport(aiokafka.Transport):
    """Its messages have a list of aiokafka's records for a value."""

    Consumer = _Consumer
    member_id = ""
    """As whom to join; a group that doesn't know it takes it for a new member."""
