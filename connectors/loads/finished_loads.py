"""The loads that a topic holds whole, so that an interrupted prewarm can continue."""

import time
from collections.abc import Collection, Iterator
from typing import Any

from confluent_kafka import KafkaError, TopicPartition

from connectors import headers, tails
from connectors.headers import RecordKind
from connectors.kafka_clients import KafkaTopic
from connectors.loads.kafka_sink import BEGIN, END
from hive.errors import PublishError
from state.records import LoadBegin, LoadEnd, Scope, ScopeKind, decode

_AT_ONCE = 1_000
_CONSUME_S = 1.0
_SILENCE_S_MAX = 30.0


def ended_scopes(
    topic: KafkaTopic, epoch: int, shards: Collection[int] | None = None
) -> set[Scope]:
    """The scopes of these shards, or of all, whose last begun load has ended in this epoch.

    Doubts that arose after a load are left to the workers, which ask for new loads. The whole topic
    is read, but only Begin and End are decoded.
    """
    begun: dict[Scope, str] = {}
    ended: set[Scope] = set()
    for message in _messages(topic, shards):
        head = headers.read(message.headers())
        if head is None or head.kind is not RecordKind.LOAD or head.epoch != epoch:
            continue
        if head.event not in (BEGIN, END):
            continue
        record = decode(message.value())
        assert isinstance(record, LoadBegin | LoadEnd)
        if record.scope.kind is ScopeKind.DATABASES:
            continue
        if isinstance(record, LoadBegin):
            begun[record.scope] = record.load
            ended.discard(record.scope)
        elif begun.get(record.scope) == record.load:
            ended.add(record.scope)
    return ended


def _messages(topic: KafkaTopic, shards: Collection[int] | None) -> Iterator[Any]:
    """The messages that the topic holds at the time of the call, each shard in its order."""
    first, ends = tails.offsets(topic)
    wanted = ends if shards is None else shards
    reading = {shard for shard in wanted if first[shard] < ends[shard]}
    consumer = topic.consumer()
    consumer.assign([TopicPartition(topic.name, shard, first[shard]) for shard in sorted(reading)])
    heard_at = time.monotonic()
    try:
        while reading:
            messages = consumer.consume(_AT_ONCE, _CONSUME_S)
            if messages:
                heard_at = time.monotonic()
            elif time.monotonic() - heard_at > _SILENCE_S_MAX:
                why = f"nothing came for {_SILENCE_S_MAX:g} s"
                raise PublishError(f"{topic.name} can't be read: {why}")
            for message in messages:
                shard, offset, error = message.partition(), message.offset(), message.error()
                if error is None and offset is not None and offset < ends[shard or 0]:
                    yield message
                elif error is not None and error.code() != KafkaError._PARTITION_EOF:  # noqa: SLF001
                    raise PublishError(f"{topic.name} can't be read: {error.str()}")
                if error is not None or offset is None or offset >= ends[shard or 0] - 1:
                    reading.discard(shard or 0)
    finally:
        consumer.close()
