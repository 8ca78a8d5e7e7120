"""A reader of one partition, from a real broker."""

import os
from threading import Event, Timer
from typing import Any
from unittest.mock import Mock

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from connectors.loads.chunks import CHUNK_BYTES_MAX
from hive.errors import StoppedError, TopicError
from state.topic import Topic, TopicReader
from state.topic.batches import BYTES_MAX
from state.topic.client import Bounds
from state.topic.settings import REQUEST_TIMEOUT_S
from tests.support.kafka.topics import TopicWriter, delete_topic, new_topic

RECORDS = 2_500
"""More than one batch brings."""


class Recorded:
    """Passes everything on to a consumer, and remembers how many messages it was to wait for."""

    def __init__(self, consumer: Consumer) -> None:
        self._consumer = consumer
        self.awaited: list[tuple[int, int]] = []

    def consume(self, count: int, timeout_s: float) -> list[Message]:
        messages = self._consumer.consume(count, timeout_s)
        self.awaited.append((count, len(messages)))
        return messages

    def __getattr__(self, name: str) -> Any:
        return getattr(self._consumer, name)


def test_it_waits_for_no_more_records_than_there_are(kafka_broker: str) -> None:
    topic = new_topic(kafka_broker, 2)
    writer = TopicWriter(topic)
    for shard in range(2):
        writer.write(shard, (b"%d" % number for number in range(RECORDS)))
    writer.flush()
    with TopicReader(topic) as reader:
        consumer = reader._consumer = Recorded(reader._consumer)  # type: ignore[assignment]
        for shard, end in ((0, RECORDS), (1, 10)):
            numbers = [int(r.value) for batch in reader.read(shard, 0, end) for r in batch]
            assert numbers == list(range(end))
    left = RECORDS + 10
    for count, received in consumer.awaited:
        assert count <= left
        left -= received
    assert left == 0
    delete_topic(kafka_broker, topic.name)


def test_batches_have_few_bytes_from_the_first_on_and_whatever_came_before(
    kafka_broker: str,
) -> None:
    loads, few = 200, 3_000
    topic, large = new_topic(kafka_broker, 2), os.urandom(CHUNK_BYTES_MAX // 16) * 16
    writer = TopicWriter(topic, compression="lz4")
    writer.write(0, [large] * loads)
    writer.write(1, [b"event"] * few + [large] * loads)
    writer.flush()
    with TopicReader(topic) as reader:
        for shard, end in enumerate((loads, few + loads)):
            sizes = [
                sum(len(record.value) for record in batch) for batch in reader.read(shard, 0, end)
            ]
            assert sum(sizes) >= loads * CHUNK_BYTES_MAX
            assert sizes[0] <= BYTES_MAX
            # A batch of many that follows small ones is bounded by what a consumer fetches ahead.
            assert max(sizes) < 5 * BYTES_MAX
    delete_topic(kafka_broker, topic.name)


class Unanswered:
    """A consumer whose brokers are away."""

    def __init__(self, stop: Event, stopped_at: int) -> None:
        self.timeouts_s: list[float] = []
        self._stop = stop
        self._stopped_at = stopped_at

    def get_watermark_offsets(self, _: TopicPartition, timeout: float) -> tuple[int, int]:
        self.timeouts_s.append(timeout)
        if len(self.timeouts_s) == self._stopped_at:
            self._stop.set()
        raise KafkaException(KafkaError(KafkaError._ALL_BROKERS_DOWN))

    def assign(self, _: list[TopicPartition]) -> None:
        pass

    def consume(self, count: int, timeout_s: float) -> list[Message]:
        self._stop.set()
        return []

    def close(self) -> None:
        pass


def test_without_brokers_it_waits_as_long_as_a_request_may_take() -> None:
    with TopicReader(Topic("127.0.0.1:1", "topic", 1, {}, "id")) as reader:
        consumer: Any = Unanswered(Event(), 0)
        reader._consumer = consumer
        with pytest.raises(TopicError, match="partition 0 of topic topic"):
            reader.bounds(0)
    assert sum(consumer.timeouts_s) == REQUEST_TIMEOUT_S


def test_once_it_is_stopped_it_does_not_wait_for_brokers() -> None:
    with TopicReader(Topic("127.0.0.1:1", "topic", 1, {}, "id")) as reader:
        stop = reader.stop = Event()
        consumer: Any = Unanswered(stop, 2)
        reader._consumer = consumer
        with pytest.raises(StoppedError):
            reader.bounds(0)
        assert len(consumer.timeouts_s) == 2
        stop.clear()
        with pytest.raises(StoppedError):
            list(reader.read(0, 0, 1))


class Electing(Unanswered):
    """As a consumer whose broker is no leader any more, and then learns who is."""

    def get_watermark_offsets(self, _: TopicPartition, timeout: float) -> tuple[int, int]:
        self.timeouts_s.append(timeout)
        if len(self.timeouts_s) == 1:
            raise KafkaException(KafkaError(KafkaError.NOT_LEADER_FOR_PARTITION))
        return 3, 5


def test_bounds_wait_for_a_new_leader() -> None:
    with TopicReader(Topic("127.0.0.1:1", "topic", 1, {}, "id")) as reader:
        consumer: Any = Electing(Event(), 0)
        reader._consumer = consumer
        assert reader.bounds(0) == Bounds(3, 5)


def test_bounds_do_not_wait_for_a_leader_once_it_is_stopped() -> None:
    with TopicReader(Topic("127.0.0.1:1", "topic", 1, {}, "id")) as reader:
        stop = reader.stop = Event()
        consumer: Any = Electing(stop, 0)
        reader._consumer = consumer
        Timer(0.1, stop.set).start()
        with pytest.raises(StoppedError):
            reader.bounds(0)


def message(offset: int, error: KafkaError | None = None) -> Any:
    return Mock(offset=lambda: offset, value=lambda: b"%d" % offset, error=lambda: error)


def test_what_does_not_follow_is_left_out_or_a_gap() -> None:
    with TopicReader(Topic("127.0.0.1:1", "topic", 1, {}, "id")) as reader:
        away = KafkaError(KafkaError._ALL_BROKERS_DOWN)
        for messages, offsets, fault in (
            ([message(3), message(5), message(6)], [5, 6], None),
            ([message(5), message(8)], [5], 8),
            ([message(5), message(6, away), message(7)], [5], away),
        ):
            batch, why = reader._take(messages, 5)
            assert ([record.offset for record in batch], why) == (offsets, fault)


def test_a_fault_for_good_and_a_topic_that_has_lost_its_end_are_errors(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with TopicReader(Topic("127.0.0.1:1", "topic", 1, {}, "id")) as reader:
        fatal = KafkaError(KafkaError._FATAL, "fenced", fatal=True)
        with pytest.raises(TopicError, match="fenced"):
            reader._recover(0, 5, fatal, 0)
        assert reader._recover(0, 5, KafkaError(KafkaError._ALL_BROKERS_DOWN), 0) == 5
        monkeypatch.setattr(reader, "bounds", lambda _: Bounds(0, 4))
        out_of_range = KafkaError(KafkaError._AUTO_OFFSET_RESET)
        with pytest.raises(TopicError, match="it ends at 4, but offset 5 was read before"):
            reader._recover(0, 5, out_of_range, 0)
        assert reader._recover(0, 4, out_of_range, 0) == 4
