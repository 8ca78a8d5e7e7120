"""Writes operators' decisions into the events topic: only its records change what workers hold."""

from collections.abc import Callable, Sequence
from functools import partial

import structlog

from connectors.log.last_event import LastEvent
from connectors.publish.headers import RecordHeaders, RecordKind
from connectors.publish.publisher import reset, write
from connectors.publish.sender import Sender
from hive.errors import MachineError
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


class OrderWriter:
    """Writes orders by a sender that it keeps, because each new one waits for half a second."""

    def __init__(self, topic: Topic, last_event: Callable[[], LastEvent]) -> None:
        """`last_event` asks the database."""
        self._topic = topic
        self._last_event = last_event
        self._sender: Sender | None = None

    def write(self, epoch: int, order: Order, offset: int) -> None:
        """Writes the order at this offset of the signals topic.

        Decisions about the whole cache share a partition of the signals topic, so their offsets
        number them, and a decision that is delivered twice is written with the same version. If
        the signals topic was made anew and counts from 0 again, the version follows the one that
        the sender knew.
        """
        record: AnyRecord
        shards: Sequence[int] = range(self._topic.shards)
        match order:
            case NewEpochOrder():
                self._begin_epoch(epoch, order.epoch)
                return
            case ResetTableOrder(table=table, load=load):
                record = ResetTable(epoch, self._last_event().event_id, table, load)
                shards = (table_shard(table, self._topic.shards),)
            case SetListsOrder():
                version = _version(order.above, offset)
                record = SetLists(epoch, version, order.whitelist, order.blacklist)
            case PauseOrder():
                record = Pause(epoch, _version(order.above, offset), order.paused)
            case SkipOrder(shard=shard, first=first, last=last):
                if shard >= self._topic.shards:
                    log.warning("an order was not written: there is no such shard", shard=shard)
                    return
                record = Skip(epoch, first, last)
                shards = (shard,)
        head = RecordHeaders(RecordKind.CONTROL, epoch)
        self._send(partial(write, record=record, head=head, shards=shards))
        log.warning("an order was written", record=type(record).__name__, order=str(order))

    def close(self) -> None:
        """Ends the sender; the next order is written by another."""
        sender, self._sender = self._sender, None
        if sender is not None:
            sender.close()

    def _begin_epoch(self, epoch: int, highest: int) -> None:
        """Begins an epoch above the highest that a shard has, unless one has begun since the
        order."""
        if epoch > highest:
            log.warning("an order was not written: a later epoch has begun", epoch=epoch)
            return
        # What can't follow on ours was forged, and the shard that has it takes the next of ours.
        begun = (highest if follows(highest, epoch) else epoch) + 1
        shards = range(self._topic.shards)
        self._send(partial(reset, epoch=begun, last=self._last_event(), shards=shards))
        log.warning("an epoch was begun by order", epoch=begun)

    def _send(self, send: Callable[[Sender, Topic], None]) -> None:
        sender = self._sender = self._sender or Sender(self._topic)
        try:
            send(sender, self._topic)
        except MachineError:
            # It may have failed for good.
            self.close()
            raise


def _version(above: int, offset: int) -> int:
    return min(max(above, offset) + 1, NATURAL_MAX)
