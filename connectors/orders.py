"""Writes operators' decisions into the events topic: only its records change what workers hold."""

from collections.abc import Callable, Sequence

import structlog

from connectors.log.last_event import LastEvent
from connectors.publish.headers import RecordHeaders, RecordKind
from connectors.publish.publisher import reset_now, write_now
from state.records import AnyRecord, Pause, ResetTable, SetLists, Skip
from state.records.epochs import follows
from state.records.numbers import NATURAL_MAX
from state.records.routing import table_shard
from state.records.signals import (
    NewEpochOrder,
    Order,
    PauseOrder,
    ResetTableOrder,
    SetListsOrder,
    SkipOrder,
)
from state.topic import Topic

log = structlog.get_logger()


def write_order(
    topic: Topic, epoch: int, order: Order, offset: int, last_event: Callable[[], LastEvent]
) -> None:
    """Writes the order at this offset of the signals topic; `last_event` asks the database.

    Decisions about the whole cache share a partition of the signals topic, so their offsets number
    them, and a decision that is delivered twice is written with the same version. If the signals
    topic was made anew and counts from 0 again, the version follows the one that the sender knew.
    """
    record: AnyRecord
    shards: Sequence[int] = range(topic.shards)
    if isinstance(order, NewEpochOrder):
        _begin_epoch(topic, epoch, order.epoch, last_event)
        return
    match order:
        case ResetTableOrder(table=table, load=load):
            record = ResetTable(epoch, last_event().event_id, table, load)
            shards = (table_shard(table, topic.shards),)
        case SetListsOrder():
            version = _version(order.above, offset)
            record = SetLists(epoch, version, order.whitelist, order.blacklist)
        case PauseOrder():
            record = Pause(epoch, _version(order.above, offset), order.paused)
        case SkipOrder(shard=shard, first=first, last=last):
            if shard >= topic.shards:
                log.warning("an order was not written: there is no such shard", shard=shard)
                return
            record = Skip(epoch, first, last)
            shards = (shard,)
    write_now(topic, record, RecordHeaders(RecordKind.CONTROL, epoch), shards)
    log.warning("an order was written", record=type(record).__name__, order=str(order))


def _begin_epoch(
    topic: Topic, epoch: int, highest: int, last_event: Callable[[], LastEvent]
) -> None:
    """Begins an epoch above the highest that a shard has, unless one has begun since the order."""
    if epoch > highest:
        log.warning("an order was not written: a later epoch has begun", epoch=epoch)
        return
    # What can't follow on ours was forged, and the shard that has it takes the next one of ours.
    begun = (highest if follows(highest, epoch) else epoch) + 1
    reset_now(topic, begun, last_event(), range(topic.shards))
    log.warning("an epoch was begun by order", epoch=begun)


def _version(above: int, offset: int) -> int:
    return min(max(above, offset) + 1, NATURAL_MAX)
