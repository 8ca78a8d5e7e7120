"""Records for the events and the signals topic: real ones, made-up ones, and mutants of both."""

from typing import Final

from confluent_kafka import Producer, TopicPartition
from hypothesis import strategies as st
from msgspec import inspect

from state.records import AnyRecord, encode
from state.records.codec import BODY, framed
from state.records.signals import AnySignal, encode_signal
from state.topic import Topic
from state.topic.client import topic_bounds
from state.topic.partitions import assigned_consumer
from state.topic.settings import QUIET
from tests.processors.fold.record_strategies import strategy
from tests.support.mutations import NUMBERS, mutants

IN_RECORDS: Final = (
    *NUMBERS,
    *(b"\xcf" + b"\xff" * 8, b"\xd3\x80" + b"\0" * 7, b"\xdd\xff\xff\xff\xff", b"\xdf\x7f\0\0\0"),
    *(b"\xc6\x7f\xff\xff\xff", b"\x90", b"\x91" * 2000, b"\xc0", b"\xc1", b"\0", b"\xff" * 8),
    *(b"\x01", b"\x02", b"\xa1a", b"\xa2ct", b"\xd9\xff"),
)
REPETITIONS_MAX: Final = 2_000

events: Final = strategy(inspect.type_info(AnyRecord)).map(encode)
"""Records that can be read, whatever they say."""
signals: Final = strategy(inspect.type_info(AnySignal)).map(encode_signal)


def mutated(messages: list[bytes]) -> st.SearchStrategy[bytes]:
    return mutants(messages, IN_RECORDS, REPETITIONS_MAX)


def mutated_events(records: list[bytes]) -> st.SearchStrategy[bytes]:
    """Mutants of records, most of them with the right checksum, as who forges them would write."""
    bodies = mutated([record[BODY] for record in records]).map(framed)
    return st.one_of(bodies, bodies, bodies, mutated(records))


def recorded(topic: Topic) -> list[bytes]:
    """What the topic holds."""
    values = []
    consumer = assigned_consumer(topic)
    try:
        for shard, (first, end) in topic_bounds(topic).items():
            consumer.assign([TopicPartition(topic.name, shard, first)])
            while first < end:
                for message in consumer.consume(1_000, 0.02):
                    if message.error() is None:
                        values.append(message.value() or b"")
                        first = (message.offset() or 0) + 1
    finally:
        consumer.close()
    return values


class Writer:
    """Writes bytes into partitions as anybody with the right to write may."""

    def __init__(self, topic: Topic) -> None:
        self._topic = topic
        self._written = 0
        self._producer = Producer({**topic.client, "linger.ms": 1}, logger=QUIET)

    def event(self, value: bytes) -> None:
        self._write(self._topic.name, value)

    def signal(self, value: bytes) -> None:
        self._write(self._topic.signals, value)

    def _write(self, name: str, value: bytes) -> None:
        """Waits for the brokers, so that whoever comes next sees what it does."""
        self._written += 1
        self._producer.produce(name, value, partition=self._written % self._topic.shards)
        assert self._producer.flush(60) == 0
