"""The metastore's changes as one feed: each event once, in the order of the log.

The records of an event are spread over the shards that it touches. Each shard's records carry the
interval that they cover, so an event is complete once every shard has come as far.
"""

from collections.abc import Collection, Iterable, Iterator
from typing import Any, Final, NamedTuple

import msgspec

from connectors.feed.topic_records import record_in
from connectors.publish import headers
from state.records import AnyRecord, Change, Reset
from state.records.actions import (
    AnyAction,
    CreateNames,
    DropName,
    PutName,
    RenameTable,
    Side,
)
from state.records.epochs import follows
from state.topic import Topic
from state.topic.client import topic_bounds
from state.topic.partitions import PartitionsReader
from state.topic.same_topic import TopicWatch

GAP: Final = "GAP"
"""The type of an event that stands for those that the topic lacks."""
_OF_LISTS: Final = (CreateNames, PutName, DropName)
"""Actions that repeat for the lists of names what another action of their event says."""
_STRETCH_RECORDS: Final = 5_000
_WAIT_S: Final = 0.2

Place = tuple[int, int]
"""An epoch and an event id."""


class FeedPosition(NamedTuple):
    """Where an event or a gap stands in the feed, in the order in which they come."""

    epoch: int
    event_id: int
    is_event: bool
    """A gap comes before the event at its end, which another shard may have."""


class FeedEvent(NamedTuple):
    """An event of the metastore's log, and all that it did."""

    place: Place
    type: str
    written_ms: int
    """When the first of its records was written to the topic."""
    actions: tuple[AnyAction, ...]
    after: int | None = None
    """For a gap, the last event before it; its place is the last one in it."""

    @property
    def position(self) -> FeedPosition:
        return FeedPosition(*self.place, is_event=self.after is None)


class Merge:
    """Puts the records of several shards into one order.

    1. A record that comes again, from another connector or a later attempt, changes nothing. An
       epoch begins, and the parts of an event are joined, as in the fold.
    2. An event is ready when no shard can bring more of it.
    3. What waits is bounded by how far the reader of the records lets shards get ahead.
    """

    def __init__(self, shards: Iterable[int]) -> None:
        self._reached: dict[int, Place | None] = dict.fromkeys(shards)
        self._parts: dict[int, dict[int, Change]] = {}
        """By shard and number those that have come of the event that comes next."""
        self._waiting: dict[FeedPosition, FeedEvent] = {}

    def take(self, shard: int, record: AnyRecord, type_: str, written_ms: int) -> None:
        """Takes the next record of a shard."""
        if not isinstance(record, Change | Reset):
            return
        reached = self._reached[shard]
        if reached is None or follows(record.epoch, reached[0]):
            start = record.at if isinstance(record, Reset) else record.after
            reached = self._reached[shard] = (record.epoch, start)
        epoch, last = reached
        if isinstance(record, Reset) or record.epoch != epoch or record.upto <= last:
            return
        if record.after > last:
            self._miss(FeedEvent((epoch, record.after), GAP, written_ms, (), last))
        parts = self._joined(shard, record)
        if parts is None:
            return
        place = self._reached[shard] = (epoch, record.upto)
        actions = [
            _whole(action)
            for part in parts
            for action in part.actions
            if not isinstance(action, _OF_LISTS)
        ]
        if actions:
            event = FeedEvent(place, type_, written_ms, ())
            event = self._waiting.get(event.position, event)
            more = tuple(action for action in actions if action not in event.actions)
            self._waiting[event.position] = event._replace(actions=(*event.actions, *more))

    def behind(self) -> Collection[int]:
        """The shards that the feed waits for."""
        unknown = [shard for shard, reached in self._reached.items() if reached is None]
        if unknown:
            return unknown
        floor = self._floor()
        return [shard for shard, reached in self._reached.items() if reached == floor]

    def ready(self) -> Iterator[FeedEvent]:
        """The events that are complete, in order."""
        floor = self._floor()
        if floor is None:
            return
        for position in sorted(self._waiting):
            if position[:2] > floor:
                return
            yield self._waiting.pop(position)

    def _floor(self) -> Place | None:
        reached = [place for place in self._reached.values() if place is not None]
        return min(reached) if len(reached) == len(self._reached) else None

    def _miss(self, gap: FeedEvent) -> None:
        """Takes a gap; of those that end together, the longest holds the others."""
        known = self._waiting.get(gap.position)
        if known is None or (gap.after or 0) < (known.after or 0):
            self._waiting[gap.position] = gap

    def _joined(self, shard: int, record: Change) -> list[Change] | None:
        """All parts of an event if this is its last one and none is missing. Those of several
        publishers may be mixed."""
        parts, last = self._parts.setdefault(shard, {}), record.parts - 1
        before = next(iter(parts.values()), record)
        if (before.epoch, before.upto) != (record.epoch, record.upto):
            parts.clear()
        parts[record.part] = record
        if record.part < last or not all(number in parts for number in range(last)):
            return None
        del self._parts[shard]
        return [*(parts[number] for number in range(last)), record]


def feed(topic: Topic, *, ever: bool = False) -> Iterator[FeedEvent]:
    """The events that the topic holds now, as far as all shards have come; with `ever`, also those
    to come, until the topic is created anew.

    It reads on where the feed is behind, so what waits for other shards is bounded.
    """
    bounds = topic_bounds(topic)
    offsets = {shard: bounds[shard].first for shard in range(topic.shards)}
    ends = {shard: bounds[shard].end for shard in offsets}
    merge = Merge(offsets)
    with PartitionsReader(topic) as reader:
        while stretch := _stretch(merge, offsets, ends):
            _take_all(merge, reader.read(offsets, stretch))
            offsets |= {shard: end for shard, end in stretch.items() if end > offsets[shard]}
            yield from merge.ready()
        if not ever:
            return
        reader.begin(offsets)
        watch = TopicWatch(topic)
        while True:
            _take_all(merge, reader.arrived(_WAIT_S))
            yield from merge.ready()
            watch.look()


def _stretch(merge: Merge, offsets: dict[int, int], ends: dict[int, int]) -> dict[int, int]:
    """Up to which offset each shard is read next; empty when the feed can't get further."""
    stretch = dict(offsets)
    for shard in merge.behind():
        stretch[shard] = min(offsets[shard] + _STRETCH_RECORDS, ends[shard])
    return {} if stretch == offsets else stretch


def _take_all(merge: Merge, messages: Iterable[Any]) -> None:
    for message in messages:
        head, record = headers.read(message.headers()), record_in(message)
        if record is None:
            # The interval of the next record shows what it may have been.
            continue
        _, written_ms = message.timestamp()
        merge.take(message.partition(), record, head.event if head else "", written_ms)


def _whole(action: AnyAction) -> AnyAction:
    """An action as all shards would have it."""
    if isinstance(action, RenameTable):
        return msgspec.structs.replace(action, sides=Side.BOTH)
    return action
