"""Finds the loads that a topic holds completely, so that an interrupted prewarm can continue."""

from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

from connectors import headers
from connectors.headers import RecordHeaders, RecordKind
from connectors.loads.kafka_sink import BEGIN, END
from hive.errors import RecordFormatError
from state.records import LoadBegin, LoadEnd, Scope, ScopeKind, decode, skip_in
from state.topic import Topic
from state.topic.client import topic_bounds
from state.topic.partitions import PartitionsReader


class _Begun(NamedTuple):
    """The last load of a scope that has begun."""

    load: str
    shard: int
    offset: int


def ended_scopes(topic: Topic, epoch: int, shards: Collection[int] | None = None) -> set[Scope]:
    """The scopes of these shards, or of all, whose last begun load has ended in this epoch.

    A load that began before a record which an order skips doesn't count. Other doubts that arose
    after a load are left to the workers, which ask for new loads. The whole topic is read, but only
    the Begin and the End of each load are decoded.
    """
    begun: dict[Scope, _Begun] = {}
    ended: set[Scope] = set()
    for message in _messages(topic, shards):
        value = message.value() or b""
        order = skip_in(value)
        if order is not None:
            ended -= {
                scope
                for scope, begin in begun.items()
                if begin.shard == message.partition() and begin.offset < order.last
            }
            continue
        record = _begin_or_end(headers.read(message.headers()), epoch, value)
        if record is None or record.scope.kind is ScopeKind.DATABASES:
            continue
        scope = record.scope
        if isinstance(record, LoadBegin):
            begun[scope] = _Begun(record.load, message.partition(), message.offset())
            ended.discard(scope)
        elif scope in begun and begun[scope].load == record.load:
            ended.add(scope)
    return ended


def _begin_or_end(
    head: RecordHeaders | None, epoch: int, value: bytes
) -> LoadBegin | LoadEnd | None:
    """The record if it begins or ends a load in this epoch."""
    if head is None or head.kind is not RecordKind.LOAD or head.epoch != epoch:
        return None
    if head.event not in (BEGIN, END):
        return None
    try:
        record = decode(value)
    except RecordFormatError:
        return None
    return record if isinstance(record, LoadBegin | LoadEnd) else None


def _messages(topic: Topic, shards: Collection[int] | None) -> Iterator[Any]:
    """The messages that the topic holds at the time of the call, each shard in its order."""
    bounds = topic_bounds(topic)
    wanted = bounds if shards is None else shards
    with PartitionsReader(topic) as reader:
        yield from reader.read(
            {shard: bounds[shard].first for shard in wanted},
            {shard: bounds[shard].end for shard in wanted},
        )
