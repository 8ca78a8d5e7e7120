"""Reads several partitions at once, from offset to offset."""

from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import Any, Final, Self

from confluent_kafka import Consumer, KafkaError, Message, TopicPartition

from hive.errors import TopicError
from state.topic.description import Topic
from state.topic.settings import QUIET, RECORD_BYTES_MAX
from state.topic.silence import Silence

_AT_ONCE: Final = 1_000
# At the end of a partition the batch isn't full, so all of this time is waited out.
_WAIT_S: Final = 0.02
_FETCH_WAIT_MS: Final = 100
WATCH_WAIT_MS: Final = 1_000
"""For readers that follow a partition. New records end the wait, but a move to another offset
doesn't."""
_END: Final = KafkaError._PARTITION_EOF  # noqa: SLF001


def assigned_consumer(topic: Topic, fetch_wait_ms: int = _FETCH_WAIT_MS) -> Consumer:
    """A consumer of assigned partitions, without a group.

    `fetch_wait_ms` is how long brokers wait for a record before they answer that there is none.
    """
    return Consumer(
        {
            **topic.client,
            "group.id": topic.no_group,
            "enable.auto.commit": False,
            "enable.auto.offset.store": False,
            "enable.partition.eof": True,
            "auto.offset.reset": "earliest",
            "fetch.wait.max.ms": fetch_wait_ms,
            "fetch.message.max.bytes": RECORD_BYTES_MAX,
            "queued.max.messages.kbytes": 64 * 1024,
        },
        logger=QUIET,
    )


class PartitionsReader:
    """A consumer outside of any group, for one thread. Gaps in the offsets are passed over."""

    def __init__(self, topic: Topic, fetch_wait_ms: int = _FETCH_WAIT_MS) -> None:
        self._name = topic.name
        self._consumer = assigned_consumer(topic, fetch_wait_ms)

    def read(self, starts: Mapping[int, int], ends: Mapping[int, int]) -> Iterator[Any]:
        """The messages of partitions from their starts up to their ends, each partition's in
        order."""
        reading = {shard for shard, start in starts.items() if start < ends[shard]}
        if not reading:
            return
        self.begin({shard: starts[shard] for shard in reading})
        silence = Silence()
        while reading:
            messages = self._consumer.consume(_AT_ONCE, _WAIT_S)
            if messages:
                silence.end()
            elif silence.too_long:
                raise TopicError(
                    f"{self._name} can't be read: nothing came for {silence.max_s:g} s"
                )
            for message in messages:
                shard, offset = message.partition(), message.offset()
                if shard not in reading:
                    continue
                is_record = self._is_record(message)
                if is_record and offset is not None and offset < ends[shard]:
                    yield message
                if not is_record or offset is None or offset >= ends[shard] - 1:
                    reading.discard(shard)
        self._consumer.unassign()

    def begin(self, starts: Mapping[int, int]) -> None:
        """Moves to these offsets, from which `arrived` reads on."""
        places = [TopicPartition(self._name, shard, at) for shard, at in sorted(starts.items())]
        self._consumer.assign(places)

    def arrived(self, wait_s: float = 0) -> Iterator[Any]:
        """The messages that have come since the last call, or that come within `wait_s`."""
        count = _AT_ONCE
        while count == _AT_ONCE:
            messages = self._consumer.consume(_AT_ONCE, wait_s)
            count = len(messages)
            yield from filter(self._is_record, messages)

    def close(self) -> None:
        self._consumer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _is_record(self, message: Message) -> bool:
        """Whether a message is a record, not the end of a partition; raises if it is a fault."""
        error = message.error()
        if error is None:
            return True
        if error.code() != _END:
            raise TopicError(
                f"partition {message.partition()} of {self._name} can't be read: {error.str()}"
            )
        return False
