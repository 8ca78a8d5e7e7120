"""Connectors that run as long as a test needs them, and what they left in the topic."""

import itertools
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any, NamedTuple

import sqlalchemy as sa
from confluent_kafka import TopicPartition

from connectors.connector import Connector, Status
from connectors.log.last_event import LastEvent
from connectors.log.source import Source
from connectors.metrics import Metrics
from connectors.publish import headers, tails
from connectors.publish.headers import RecordHeaders, RecordKind
from connectors.publish.publisher import FENCE, reset, write
from connectors.publish.sender import Sender
from connectors.publish.watermark import Watermark
from connectors.settings import Pace
from hive.schema import Version, create, detect, metadata
from state.records import AnyRecord, Change, decode
from state.store import MemoryStore
from state.topic import Topic
from state.topic.client import topic_bounds
from state.topic.partitions import assigned_consumer
from state.tracing import Tracing
from tests.support.folding import folded_into

PATIENCE_S = 60.0
QUICK = Pace(gap_ms=100, transactions_s=0.1)
_numbers = itertools.count(1)


class Message(NamedTuple):
    """A record of the topic with its headers."""

    shard: int
    offset: int
    head: RecordHeaders
    record: AnyRecord


def new_topic(broker: str, shards: int = 4) -> Topic:
    return Topic(broker, f"events_{os.getpid()}_{next(_numbers)}", shards)


def read(topic: Topic) -> list[Message]:
    """The whole topic, shard by shard, without the records by which sessions begin."""
    return [message for message in read_all(topic) if message.record != FENCE]


def read_all(topic: Topic) -> list[Message]:
    """The whole topic, shard by shard."""
    bounds = topic_bounds(topic)
    messages: list[Message] = []
    consumer = assigned_consumer(topic)
    try:
        for shard, (first, end) in bounds.items():
            if first == end:
                continue
            consumer.assign([TopicPartition(topic.name, shard, first)])
            done = False
            while not done:
                for message in consumer.consume(1_000, 0.02):
                    if message.error() is not None:
                        continue
                    offset, value = message.offset(), message.value()
                    assert offset is not None
                    assert value is not None
                    head = headers.read(message.headers())
                    assert head is not None, f"{shard}/{offset} has no headers of ours"
                    messages.append(Message(shard, offset, head, decode(value)))
                    done = offset >= end - 1
    finally:
        consumer.close()
    return messages


def changes(messages: list[Message], shard: int) -> list[Change]:
    found = [one.record for one in messages if one.shard == shard]
    return [one for one in found if isinstance(one, Change)]


def assert_unbroken(messages: list[Message], topic: Topic, begin: int = 0) -> int:
    """Every shard's intervals join, from the beginning on; how far the least far one has come."""
    applied = dict.fromkeys(range(topic.shards), begin)
    for message in messages:
        change = message.record
        if not isinstance(change, Change):
            continue
        where = f"shard {message.shard}, offset {message.offset}"
        assert message.head.upto == change.upto, where
        assert change.after <= change.upto, where
        assert change.after <= applied[message.shard], f"{where}: a hole before {change}"
        if message.head.kind in (RecordKind.CHANGE, RecordKind.PROGRESS):
            applied[message.shard] = max(applied[message.shard], change.upto)
    return min(applied.values())


def fold(messages: list[Message], shard: int = 0) -> MemoryStore:
    """A store with the records of one shard."""
    store = MemoryStore()
    txn = store.transaction()
    folded_into(txn, (message.record for message in messages if message.shard == shard))
    store.commit(txn, store.position)
    return store


class Running:
    """A connector in a thread."""

    def __init__(
        self,
        source: Source,
        topic: Topic,
        pace: Pace | None = None,
        tracing: Tracing | None = None,
    ) -> None:
        self.metrics, self.status, self.watermark = Metrics(), Status(), Watermark()
        self.topic = topic
        self.connector = Connector(
            source,
            topic,
            pace=pace,
            metrics=self.metrics,
            status=self.status,
            watermark=self.watermark,
            tracing=tracing,
        )
        self.thread = threading.Thread(target=self.connector.run)
        self.thread.start()

    def value(self, name: str, **labels: str) -> float:
        return self.metrics.registry.get_sample_value(f"metatide_connect_{name}", labels) or 0.0

    def until(self, what: Callable[[], bool]) -> None:
        until(what, lambda: f"{self.status}")

    def until_position(self, event_id: int) -> None:
        """Every shard in the topic is complete up to this event."""
        self.until(lambda: self.value("position") >= event_id)
        self.until(lambda: min(upto or 0 for upto in tails.find(self.topic).upto) >= event_id)

    def until_another_step(self) -> None:
        polled_at = self.status.polled_at
        self.until(lambda: self.status.polled_at > polled_at)

    def end(self) -> None:
        self.connector.stop()
        self.thread.join()


@contextmanager
def connecting(
    source: Source, topic: Topic, pace: Pace | None = None, tracing: Tracing | None = None
) -> Iterator[Running]:
    running = Running(source, topic, pace, tracing)
    try:
        yield running
    finally:
        running.end()


def until(what: Callable[[], bool], why: Callable[[], str] = str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not what():
        assert time.monotonic() < deadline, why()
        time.sleep(0.01)


class Log:
    """A notification log that a test writes row by row, with or without a metastore's care."""

    def __init__(self, engine: sa.Engine, *, unique: bool = True) -> None:
        """`unique`: whether the database sees to it that an id has one row."""
        self.engine = engine
        with engine.connect() as connection:
            listener = detect(connection)
        if listener is None:
            create(engine, Version.V4_1)
        self.tables = metadata(listener or Version.V4_1).tables
        if not unique:
            for index in self.tables["NOTIFICATION_LOG"].indexes:
                index.drop(engine)
        self._keys = itertools.count(1)

    def write(
        self, *event_ids: int, type_: str = "COMMIT_TXN", message: str | None = None, **fields: Any
    ) -> None:
        """Rows with these ids; the sequence goes on after the last one."""
        rows = [
            {
                "NL_ID": next(self._keys),
                "EVENT_ID": event_id,
                "EVENT_TIME": 1_800_000_000,
                "EVENT_TYPE": type_,
                "MESSAGE": message or f'{{"txnid":{event_id}}}',
                "MESSAGE_FORMAT": "json-0.2",
                **fields,
            }
            for event_id in event_ids
        ]
        with self.engine.begin() as connection:
            connection.execute(sa.insert(self.tables["NOTIFICATION_LOG"]), rows)
            self._set(connection, max(event_ids) + 1)

    def delete(self, first: int, last: int) -> None:
        """Removes rows, as the cleaner does."""
        log = self.tables["NOTIFICATION_LOG"]
        with self.engine.begin() as connection:
            connection.execute(sa.delete(log).where(log.c.EVENT_ID.between(first, last)))

    def restore(self, last: int) -> None:
        """Back to a state in which this was the last event."""
        log = self.tables["NOTIFICATION_LOG"]
        with self.engine.begin() as connection:
            connection.execute(sa.delete(log).where(log.c.EVENT_ID > last))
            self._set(connection, last + 1)

    def set_next(self, event_id: int) -> None:
        with self.engine.begin() as connection:
            self._set(connection, event_id)

    def _set(self, connection: sa.Connection, next_id: int) -> None:
        sequence = self.tables["NOTIFICATION_SEQUENCE"]
        connection.execute(sa.update(sequence).values(NEXT_EVENT_ID=next_id))


def publish(topic: Topic, event: int, row_hash: bytes) -> None:
    """Writes the record of a connector that has read this row."""
    head = RecordHeaders(RecordKind.CHANGE, 0, event, "COMMIT_TXN", row_hash)
    write_now(topic, Change(0, event - 1, event), head, [0])


def write_now(topic: Topic, record: AnyRecord, head: RecordHeaders, shards: Sequence[int]) -> None:
    """Writes a record by a sender of its own."""
    with closing(Sender(topic)) as sender:
        write(sender, topic, record, head, shards)


def reset_now(topic: Topic, epoch: int, last: LastEvent, shards: Sequence[int]) -> None:
    """Begins an epoch by a sender of its own."""
    with closing(Sender(topic)) as sender:
        reset(sender, topic, epoch, last, shards)
