"""Carries operators' orders along when a topic is trimmed: whoever begins with the rest needs
them.

An order is written again behind everything, under its own version. So it changes nothing where it
is known, and gives way to a later one that a connector writes meanwhile.
"""

from collections.abc import Mapping
from contextlib import closing
from typing import Final

from msgspec import structs

from connectors.publish.headers import RecordHeaders, RecordKind
from connectors.publish.publisher import write
from connectors.publish.sender import Sender
from hive.errors import RecordFormatError
from state.records import Pause, SetLists, decode, type_of
from state.records.numbers import NATURAL_MAX, supersedes
from state.topic import Topic
from state.topic.client import topic_bounds
from state.topic.partitions import PartitionsReader

LastingOrder = SetLists | Pause
_NONE_GIVEN: Final[tuple[LastingOrder, ...]] = (SetLists(0, 0, (), ()), Pause(0, 0, paused=False))
_HEAD: Final = RecordHeaders(RecordKind.CONTROL, 0)
"""An order holds in any epoch, and connectors shall learn none from its record."""


class StandingOrders:
    """The orders that hold after some records of a shard, as the fold sees it."""

    def __init__(self) -> None:
        self.orders: dict[type[LastingOrder], tuple[int, LastingOrder]] = {
            type(order): (-1, order) for order in _NONE_GIVEN
        }
        """The last order of each kind, with its offset."""

    def see(self, offset: int, order: LastingOrder) -> None:
        _, current = self.orders[type(order)]
        if supersedes(order.version, current.version):
            self.orders[type(order)] = offset, order


def carry_orders(topic: Topic, cuts: Mapping[int, int]) -> dict[int, int]:
    """Writes again what only records before these offsets order; returns the offsets up to which
    records may go.

    An order of the greatest version stays where it is: written again, it would undo one that is
    given meanwhile.
    """
    bounds = topic_bounds(topic)
    allowed = dict(cuts)
    standing = {shard: StandingOrders() for shard in cuts}
    left = {shard: StandingOrders() for shard in cuts}
    trimmed = {
        shard: bounds[shard].first for shard, cut in cuts.items() if bounds[shard].first < cut
    }
    with PartitionsReader(topic) as reader:
        for message in reader.read(trimmed, {shard: bounds[shard].end for shard in trimmed}):
            order = _order_in(message.value() or b"")
            if order is None:
                continue
            shard, offset = message.partition(), message.offset()
            standing[shard].see(offset, order)
            if offset >= cuts[shard]:
                left[shard].see(offset, order)
    again: list[tuple[int, LastingOrder]] = []
    for shard in trimmed:
        for kind, (offset, order) in standing[shard].orders.items():
            if _same(order, left[shard].orders[kind][1]):
                continue
            if order.version == NATURAL_MAX:
                allowed[shard] = min(allowed[shard], offset)
                continue
            again.append((shard, order))
    if again:
        with closing(Sender(topic)) as sender:
            for shard, order in again:
                write(sender, topic, order, _HEAD, [shard])
    return allowed


def _order_in(value: bytes) -> LastingOrder | None:
    if type_of(value) not in (SetLists.__name__, Pause.__name__):
        return None
    try:
        record = decode(value)
    except RecordFormatError:
        return None
    return record if isinstance(record, SetLists | Pause) else None


def _same(first: LastingOrder, second: LastingOrder) -> bool:
    """Whether both order the same, whenever they were given."""
    return structs.replace(first, epoch=0, version=0) == structs.replace(second, epoch=0, version=0)
