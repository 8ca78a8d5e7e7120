"""Reads several partitions at once, from offset to offset."""

from collections.abc import Iterator, Mapping
from typing import Any, Final, Self

from confluent_kafka import Consumer, KafkaError, Message, TopicPartition

from hive.errors import TopicError
from state.topic.batches import BYTES_MAX, RECORDS_MAX, BatchSize, take_arrived
from state.topic.description import Topic
from state.topic.settings import QUIET
from state.topic.silence import Silence

_POLL_S: Final = 0.25
_FETCH_WAIT_MS: Final = 100
_FETCH_BYTES_MAX: Final = 1 << 20
"""How much brokers send at a time, but for a larger record. A response is inflated at once, however
much the queue has room for, and loads are fifteen times as large as what is sent of them."""
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
            "fetch.max.bytes": _FETCH_BYTES_MAX,
            "fetch.queue.backoff.ms": 10,
            "queued.max.messages.kbytes": 2 * BYTES_MAX // 1024,
        },
        logger=QUIET,
    )


class PartitionsReader:
    """A consumer outside of any group, for one thread. Gaps in the offsets are passed over."""

    def __init__(self, topic: Topic, fetch_wait_ms: int = _FETCH_WAIT_MS) -> None:
        self._name, self._servers = topic.name, topic.servers
        self._consumer = assigned_consumer(topic, fetch_wait_ms)

    def read(self, starts: Mapping[int, int], ends: Mapping[int, int]) -> Iterator[Any]:
        """The messages of partitions from their starts up to their ends, each partition's in
        order."""
        reading = {shard for shard, start in starts.items() if start < ends[shard]}
        if not reading:
            return
        self.begin({shard: starts[shard] for shard in reading})
        silence, size = Silence(), BatchSize()
        while reading:
            messages = take_arrived(self._consumer, size.records, _POLL_S)
            if messages:
                silence.end()
                size.adapt(len(messages), sum(map(_bytes_in, messages)))
            elif silence.too_long:
                raise TopicError(
                    f"{self._name} can't be read: nothing came for {silence.max_s:g} s from "
                    f"{self._servers}; check the brokers"
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
        count = RECORDS_MAX
        while count == RECORDS_MAX:
            messages = self._consumer.consume(RECORDS_MAX, wait_s)
            count = len(messages)
            yield from filter(self._is_record, messages)

    def close(self) -> None:
        self._consumer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
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


def _bytes_in(message: Message) -> int:
    return len(message.value() or b"")
