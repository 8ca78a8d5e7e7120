"""Reads a shard's records from the topic, in order and without gaps."""

from collections.abc import Iterator
from threading import Event
from typing import Final, NamedTuple, Self

import structlog
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from hive.errors import StoppedError, TopicError
from state.topic.batches import BYTES_MAX, BatchSize, take_arrived
from state.topic.client import Bounds
from state.topic.description import Topic
from state.topic.settings import QUIET
from state.topic.silence import Silence

_POLL_S: Final = 0.25
_FETCH_BYTES_MAX: Final = 1 << 19
"""How much brokers send at a time, but for a larger record: loads are fifteen times as large when
they are inflated. On a way of 20 ms it lets 25 MB a second through."""
_RETRIES_MAX: Final = 2
# librdkafka's own codes have names that begin with an underscore.
_OUT_OF_RANGE: Final = KafkaError._AUTO_OFFSET_RESET  # noqa: SLF001
_NO_ANSWER: Final = (KafkaError._TIMED_OUT, KafkaError._ALL_BROKERS_DOWN)  # noqa: SLF001
_ELECTING: Final = (KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError.LEADER_NOT_AVAILABLE)
"""A broker answers so at once, as long as it doesn't know the partition's new leader."""
_BOUNDS_TIMEOUTS_S: Final = (1.0, 2.0, 3.0, 4.0)
"""The timeouts of the attempts to read bounds. Nothing ends one of them early."""

log = structlog.get_logger(__name__)


class StoredRecord(NamedTuple):
    """The bytes of a record and its offset in the partition."""

    offset: int
    value: bytes


class TopicReader:
    """A consumer outside of any group, for one thread.

    1. Offsets of a partition are contiguous. If some seem to be missing, the reader reads again.
    2. If the topic really lacks some, it continues after them, as their offsets show.
    3. Once `stop` is set, it doesn't wait for brokers any longer.
    """

    stop: Event | None = None

    def __init__(self, topic: Topic) -> None:
        self._topic = topic
        self._consumer = Consumer(
            {
                **topic.client,
                "group.id": topic.no_group,
                "enable.auto.commit": False,
                "enable.auto.offset.store": False,
                "auto.offset.reset": "error",
                "fetch.wait.max.ms": 100,
                "fetch.queue.backoff.ms": 10,
                "fetch.message.max.bytes": _FETCH_BYTES_MAX,
                "queued.max.messages.kbytes": BYTES_MAX // 1024,
            },
            logger=QUIET,
        )

    def bounds(self, shard: int) -> Bounds:
        """The offsets that the shard's partition holds now."""
        where = TopicPartition(self._topic.name, shard)
        for timeout_s in _BOUNDS_TIMEOUTS_S:
            self._raise_if_stopped()
            try:
                return Bounds(*self._consumer.get_watermark_offsets(where, timeout=timeout_s))
            except KafkaException as error:
                fault = error
            code = fault.args[0].code()
            if code in _ELECTING:
                (self.stop or Event()).wait(timeout_s)
            elif code not in _NO_ANSWER:
                break
        raise self._error(shard, fault.args[0]) from fault

    def read(self, shard: int, start: int, end: int) -> Iterator[list[StoredRecord]]:
        """The records from `start` up to `end`, in batches, which are empty while the brokers are
        slow."""
        expected, retries, size = start, 0, BatchSize()
        silence = Silence()
        self._seek(shard, expected)
        while expected < end:
            messages = take_arrived(self._consumer, min(size.records, end - expected), _POLL_S)
            batch, fault = self._take(messages, expected)
            if batch:
                silence.end()
                expected = batch[-1].offset + 1
                retries = 0
                size.adapt(len(batch), sum(len(record.value) for record in batch))
            yield [record for record in batch if record.offset < end]
            if fault is not None:
                retries += 1
                expected = self._recover(shard, expected, fault, retries)
            if not batch:
                self._raise_if_stopped()
            if silence.too_long:
                raise self._error(shard, f"nothing came for {silence.max_s:g} s")

    def _take(
        self, messages: list[Message], expected: int
    ) -> tuple[list[StoredRecord], KafkaError | int | None]:
        """The messages that continue from `expected`, and the fault that cuts off the others."""
        batch: list[StoredRecord] = []
        for message in messages:
            if (error := message.error()) is not None:
                return batch, error
            offset, value = message.offset(), message.value()
            assert offset is not None
            if offset < expected:
                continue
            if offset > expected:
                return batch, offset
            assert isinstance(value, bytes | None)
            batch.append(StoredRecord(offset, value or b""))
            expected += 1
        return batch, None

    def _recover(self, shard: int, expected: int, fault: KafkaError | int, retries: int) -> int:
        """Reads again from `expected`, or from the start of the topic if that is lost."""
        if isinstance(fault, KafkaError) and fault.code() != _OUT_OF_RANGE:
            if fault.fatal():
                raise self._error(shard, fault.str())
            # librdkafka retries by itself.
            return expected
        first, end = self.bounds(shard)
        if expected < first or (isinstance(fault, int) and retries > _RETRIES_MAX):
            next_offset = first if expected < first else fault
            assert isinstance(next_offset, int)
            log.warning(
                "the topic lacks records", shard=shard, expected=expected, found=next_offset
            )
            expected = next_offset
        elif expected > end:
            raise self._error(shard, f"it ends at {end}, but offset {expected} was read before")
        self._seek(shard, expected)
        return expected

    def _seek(self, shard: int, offset: int) -> None:
        self._consumer.assign([TopicPartition(self._topic.name, shard, offset)])

    def _raise_if_stopped(self) -> None:
        if self.stop is not None and self.stop.is_set():
            raise StoppedError(f"the topic {self._topic.name} isn't read any further")

    def _error(self, shard: int, why: object) -> TopicError:
        return TopicError(
            f"partition {shard} of topic {self._topic.name} at {self._topic.servers} "
            f"can't be read: {why}"
        )

    def rest(self) -> None:
        """Ends fetching until the next read: a consumer that keeps its partition asks the brokers
        ten times a second for ever."""
        self._consumer.unassign()

    def close(self) -> None:
        self._consumer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
