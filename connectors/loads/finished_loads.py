"""Finds the loads that a topic holds completely, so that an interrupted prewarm can continue."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

from connectors.loads.kafka_sink import BEGIN, END
from connectors.publish import headers
from connectors.publish.headers import RecordHeaders, RecordKind
from hive.errors import RecordFormatError
from state.records import (
    LoadBegin,
    LoadEnd,
    ResetTable,
    Scope,
    ScopeKind,
    SetLists,
    Skip,
    decode,
    skip_in,
)
from state.topic import Topic
from state.topic.client import topic_bounds
from state.topic.partitions import PartitionsReader


class _Begun(NamedTuple):
    """The last load of a scope that has begun."""

    load: str
    shard: int
    offset: int
    lo_min: int
    """The last event that its shard had before it."""


def ended_scopes(topic: Topic, epoch: int, shards: Collection[int] | None = None) -> set[Scope]:
    """The scopes of these shards, or of all, whose last begun load has ended in this epoch.

    A load doesn't count that has read less than its shard had when it began, as from a replica that
    lags; nor one that began before an order by which its shard deleted what it brought: to
    skip a record, to forget its table, or lists of tables, which may have left it out for a while.
    Other doubts that arose after a load are left to the workers, which ask for new loads. The whole
    topic is read, but only orders and the Begin and the End of each load are decoded.
    """
    begun: dict[Scope, _Begun] = {}
    ended: set[Scope] = set()
    reached: dict[int, int] = {}
    for message in _messages(topic, shards):
        head, value = headers.read(message.headers()), message.value() or b""
        shard = message.partition()
        if head is not None and head.epoch == epoch and head.sets_position:
            reached[shard] = max(head.upto, reached.get(shard, 0))
        match record := _record(head, epoch, value):
            case LoadBegin(load=load, scope=scope):
                begun[scope] = _Begun(load, shard, message.offset(), reached.get(shard, 0))
                ended.discard(scope)
            case LoadEnd(load=load, scope=scope) if scope in begun and begun[scope].load == load:
                if record.lo >= begun[scope].lo_min:
                    ended.add(scope)
            case Skip() | ResetTable() | SetLists() as order:
                for scope in _deleted(order, shard, begun):
                    del begun[scope]
                    ended.discard(scope)
    return ended


def _record(
    head: RecordHeaders | None, epoch: int, value: bytes
) -> LoadBegin | LoadEnd | Skip | ResetTable | SetLists | None:
    """The record if it is an order that deletes, or begins or ends a load in this epoch."""
    skip = skip_in(value)
    if skip is not None:
        return skip
    if head is None:
        return None
    is_load = head.kind is RecordKind.LOAD and head.epoch == epoch and head.event in (BEGIN, END)
    if not is_load and head.kind is not RecordKind.CONTROL:
        return None
    try:
        record = decode(value)
    except RecordFormatError:
        return None
    match record:
        case LoadBegin() | LoadEnd() if record.scope.kind is not ScopeKind.DATABASES:
            return record
        case ResetTable() | SetLists():
            return record
    return None


def _deleted(
    order: Skip | ResetTable | SetLists, shard: int, begun: Mapping[Scope, _Begun]
) -> list[Scope]:
    """The scopes of a shard whose loads don't count any more, since it was given an order."""
    match order:
        case Skip(last=last):
            return [
                scope
                for scope, begin in begun.items()
                if begin.shard == shard and begin.offset < last
            ]
        case ResetTable(table=table):
            return [scope for scope in (Scope(ScopeKind.TABLE, table),) if scope in begun]
        case SetLists():
            return [
                scope
                for scope, begin in begun.items()
                if begin.shard == shard and scope.kind is ScopeKind.TABLE
            ]


def _messages(topic: Topic, shards: Collection[int] | None) -> Iterator[Any]:
    """The messages that the topic holds at the time of the call, each shard in its order."""
    bounds = topic_bounds(topic)
    wanted = bounds if shards is None else shards
    with PartitionsReader(topic) as reader:
        yield from reader.read(
            {shard: bounds[shard].first for shard in wanted},
            {shard: bounds[shard].end for shard in wanted},
        )
