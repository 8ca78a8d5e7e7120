"""Finds the loads that a topic holds completely, so that an interrupted prewarm can continue."""

from collections.abc import Collection, Iterator
from typing import Any

from connectors import headers
from connectors.headers import RecordKind
from connectors.loads.kafka_sink import BEGIN, END
from state.records import LoadBegin, LoadEnd, Scope, ScopeKind, decode
from state.topic import Topic
from state.topic.client import topic_bounds
from state.topic.partitions import PartitionsReader


def ended_scopes(topic: Topic, epoch: int, shards: Collection[int] | None = None) -> set[Scope]:
    """The scopes of these shards, or of all, whose last begun load has ended in this epoch.

    Doubts that arose after a load are left to the workers, which ask for new loads. The whole topic
    is read, but only the Begin and the End of each load are decoded.
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


def _messages(topic: Topic, shards: Collection[int] | None) -> Iterator[Any]:
    """The messages that the topic holds at the time of the call, each shard in its order."""
    bounds = topic_bounds(topic)
    wanted = bounds if shards is None else shards
    with PartitionsReader(topic) as reader:
        yield from reader.read(
            {shard: bounds[shard].first for shard in wanted},
            {shard: bounds[shard].end for shard in wanted},
        )
