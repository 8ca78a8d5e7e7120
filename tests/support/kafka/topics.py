"""Creates topics for tests, fills them, and generates records."""

import time
import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import islice
from pathlib import Path

from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from connectors.publish.routing import route
from connectors.publish.translate import translate
from hive.errors import TopicError
from hive.events.decode import decode
from hive.events.row import row_from_json
from state.records import AnyRecord, Change, encode
from state.records.parts import split
from state.topic import Topic, TopicClient
from state.topic.settings import QUIET

LOGS = Path(__file__).parents[2] / "data" / "hive-4.2.0"
_TIMEOUT_S = 30


def delete_before(topic: Topic, shard: int, offset: int) -> None:
    """Deletes the records of a partition before an offset; all of them, if that is -1."""
    admin = AdminClient({"bootstrap.servers": topic.servers}, logger=QUIET)
    where = TopicPartition(topic.name, shard, offset)
    admin.delete_records([where])[where].result(_TIMEOUT_S)


def new_topic(servers: str, partitions: int, name: str | None = None) -> Topic:
    """Creates an empty topic, by default with a unique name."""
    name = name or f"test-{uuid.uuid4().hex[:12]}"
    admin = AdminClient({"bootstrap.servers": servers}, logger=QUIET)
    settings = {"retention.ms": "-1", "max.message.bytes": str(16 << 20)}
    topic = NewTopic(name, num_partitions=partitions, replication_factor=1, config=settings)
    admin.create_topics([topic])[name].result(_TIMEOUT_S)
    client, deadline = TopicClient(servers, name), time.monotonic() + _TIMEOUT_S
    while True:
        # The broker takes a moment until it describes a new topic.
        try:
            return client.describe()
        except TopicError:
            assert time.monotonic() < deadline, f"{name} doesn't come to be"
            time.sleep(0.05)


def delete_topic(servers: str, name: str) -> None:
    admin = AdminClient({"bootstrap.servers": servers}, logger=QUIET)
    admin.delete_topics([name])[name].result(_TIMEOUT_S)
    client, deadline = TopicClient(servers, name), time.monotonic() + _TIMEOUT_S
    with suppress(TopicError):
        # The broker takes a moment until it no longer describes the topic.
        while True:
            client.describe()
            assert time.monotonic() < deadline, f"{name} doesn't go"
            time.sleep(0.05)


class TopicWriter:
    """Produces as a connector does: idempotently, and in order within each shard."""

    def __init__(self, topic: Topic, compression: str = "none") -> None:
        self._topic = topic
        self._producer = Producer(
            {
                "compression.type": compression,
                "bootstrap.servers": topic.servers,
                "enable.idempotence": True,
                "linger.ms": 1,
                "message.max.bytes": 16 << 20,
                "queue.buffering.max.messages": 1_000_000,
                "message.timeout.ms": 300_000,
            },
            logger=QUIET,
        )

    def write(self, shard: int, values: Iterable[bytes]) -> None:
        for value in values:
            while True:
                try:
                    self._producer.produce(self._topic.name, value, partition=shard)
                    break
                except BufferError:
                    self._producer.poll(0.1)
        self._producer.poll(0)

    def flush(self) -> None:
        assert self._producer.flush(240) == 0, "the broker doesn't acknowledge"


def write(
    topic: Topic,
    records: Mapping[int, Iterable[AnyRecord]],
    start: int = 0,
    end: int | None = None,
) -> None:
    """Writes a slice of each shard's records; returns when the broker has acknowledged them."""
    writer = TopicWriter(topic)
    for shard, found in records.items():
        writer.write(shard, map(encode, islice(found, start, end)))
    writer.flush()


class Publisher:
    """Turns events into the records of all shards, each with the interval of event ids that it
    covers.
    """

    def __init__(self, shards: int) -> None:
        self._tails = [0] * shards

    def event(self, event: int, addressed: list[object]) -> Iterator[tuple[int, Change]]:
        for shard, actions in route(addressed, len(self._tails)).items():  # type: ignore[arg-type]
            for part in split(Change(0, self._tails[shard], event, actions)):
                yield shard, part
            self._tails[shard] = event

    def progress(self, event: int) -> Iterator[tuple[int, Change]]:
        """Records that tell all shards that they are complete up to an event."""
        for shard, tail in enumerate(self._tails):
            if tail < event:
                yield shard, Change(0, tail, event)
                self._tails[shard] = event


def log_records(log: str, shards: int) -> dict[int, list[AnyRecord]]:
    """The records of a real log, shard by shard, all complete up to its last event."""
    publisher = Publisher(shards)
    by_shard: dict[int, list[AnyRecord]] = {shard: [] for shard in range(shards)}
    event = 0
    for line in (LOGS / log / "log.jsonl").read_bytes().splitlines():
        row = row_from_json(line)
        event = row.event_id
        for shard, record in publisher.event(event, [*translate(decode(row))]):
            by_shard[shard].append(record)
    for shard, record in publisher.progress(event):
        by_shard[shard].append(record)
    return by_shard
