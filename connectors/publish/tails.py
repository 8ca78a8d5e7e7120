"""How far each shard has come in the topic: the only memory that a connector has."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from connectors.publish import headers
from connectors.publish.headers import RecordHeaders, RecordKind
from connectors.publish.published_history import PublishedEvent
from state.records.epochs import follows
from state.topic import Topic
from state.topic.client import topic_bounds
from state.topic.partitions import PartitionsReader

WINDOW_RECORDS = 256
DOUBTFUL_RECORDS_MAX = 8_192
"""So many more records of each shard are searched if they are in doubt."""
_GROWTH = 8


@dataclass
class Tail:
    """The position of one shard, as far as the records seen show it."""

    epoch: int = -1
    upto: int = 0
    hash: bytes | None = None
    loaded: dict[int, int] = field(default_factory=dict)
    """The last event that a load of each epoch has seen: the epoch that counts is known later."""
    trace: int = 0
    """The latest epoch of any record, though it says nothing of the position."""
    published: dict[int, set[PublishedEvent]] = field(default_factory=dict)
    """The events of each epoch whose hashes are known, and the last ones that loads have seen."""
    comparable_records: int = 0
    """The number of records seen that tell what was published or loaded."""
    offset: int | None = None
    """The offset of the record that tells the position; None if none does."""
    _reset: bool = field(default=False, repr=False)

    @property
    def found(self) -> bool:
        return self.epoch >= 0

    @property
    def is_enough(self) -> bool:
        """Whether the position is found, and enough that was published to compare it."""
        return self.found and self.comparable_records >= WINDOW_RECORDS // 2

    def see(self, head: RecordHeaders | None, offset: int) -> None:
        """Takes note of a record and its offset; records come in the order of the topic.

        The change with the highest event counts: earlier events were written before it, and a
        connector that wakes late only repeats older changes. If an epoch has several resets, the
        first one counts, as in the fold, until a change follows. An epoch that doesn't follow is
        passed over, as by the fold; if the first record seen has such a one, the next corrects it.
        """
        if head is None:
            return
        self.comparable_records += head.kind is not RecordKind.CONTROL
        if follows(head.epoch, self.trace):
            self.trace = head.epoch
        if head.kind is RecordKind.LOAD:
            self.loaded[head.epoch] = max(self.loaded.get(head.epoch, 0), head.upto)
        if head.hash is not None:
            self.published.setdefault(head.epoch, set()).add(PublishedEvent(head.upto, head.hash))
        newer = not self.found or follows(head.epoch, self.epoch)
        if not newer and head.epoch != self.epoch:
            return
        if head.moves and (newer or self._reset or head.upto >= self.upto):
            self._take(head, offset, reset=False)
        elif head.kind is RecordKind.RESET and newer:
            self._take(head, offset, reset=True)

    def _take(self, head: RecordHeaders, offset: int, *, reset: bool) -> None:
        self.epoch, self.upto, self.hash, self._reset = head.epoch, head.upto, head.hash, reset
        self.offset = offset


@dataclass(frozen=True)
class Tails:
    """The positions of all shards in the latest epoch that any of them has."""

    epoch: int
    upto: tuple[int | None, ...]
    """The position of each shard; None for one that hasn't reached the epoch."""
    furthest: PublishedEvent
    ends: tuple[int, ...]
    """The end offset of each shard."""
    offsets: tuple[int | None, ...]
    """The offset of the record that tells each shard's position; None if none does."""
    loaded: int = 0
    """The last event that a load has seen: it may have been lost before anybody published it."""
    trace: int = 0
    """The latest epoch of any record: a later one than `epoch` has lost its beginning."""
    published: frozenset[PublishedEvent] = frozenset()
    """What was found of the epoch, by whichever connector or load."""

    @property
    def lowest(self) -> int:
        """The event to resume from: every shard has all events up to it."""
        return min((upto for upto in self.upto if upto is not None), default=0)

    @property
    def lowest_event(self) -> PublishedEvent:
        """That event, with its hash if any record of the epoch told it."""
        same = (event for event in self.published if event.event_id == self.lowest)
        return next(same, PublishedEvent(self.lowest, None))

    @property
    def behind(self) -> tuple[int, ...]:
        """The shards that haven't reached the epoch."""
        return tuple(shard for shard, upto in enumerate(self.upto) if upto is None)


def find(topic: Topic, doubtful_from: Sequence[int] | None = None) -> Tails:
    """Searches every partition backwards, in growing windows, for its last position; and for what
    has been published from offsets on that are in doubt."""
    bounds = topic_bounds(topic)
    ends = {shard: bound.end for shard, bound in bounds.items()}
    tails = {shard: Tail() for shard in range(topic.shards)}
    windows = dict.fromkeys(tails, WINDOW_RECORDS)
    for shard, offset in enumerate(doubtful_from or ()):
        windows[shard] += min(max(0, ends[shard] - offset), DOUBTFUL_RECORDS_MAX)
    with PartitionsReader(topic) as reader:
        missing = set(tails)
        while missing:
            starts = {
                shard: max(bounds[shard].first, ends[shard] - windows[shard]) for shard in missing
            }
            for shard in missing:
                tails[shard].comparable_records = 0
            for message in reader.read(starts, ends):
                tail = tails[message.partition()]
                tail.see(headers.read(message.headers()), message.offset())
            missing = {
                shard
                for shard in missing
                if not tails[shard].is_enough and starts[shard] > bounds[shard].first
            }
            windows = {shard: _GROWTH * window for shard, window in windows.items()}
    return _together(tails, ends)


def _together(tails: Mapping[int, Tail], ends: Mapping[int, int]) -> Tails:
    shards = sorted(tails)
    epoch, *later = sorted({max(tail.epoch, 0) for tail in tails.values()})
    for candidate in later:
        # A shard whose last records are forged counts as one that is behind.
        if follows(candidate, epoch):
            epoch = candidate
    current = [tail for tail in tails.values() if tail.epoch == epoch]
    furthest = max(current, key=lambda tail: (tail.upto, tail.hash or b""), default=Tail())
    # An empty partition has no epoch yet: it begins with epoch 0.
    upto = [
        tails[shard].upto if tails[shard].epoch == epoch or epoch == 0 else None for shard in shards
    ]
    return Tails(
        epoch,
        tuple(upto),
        PublishedEvent(furthest.upto, furthest.hash),
        tuple(ends[shard] for shard in shards),
        tuple(tails[shard].offset for shard in shards),
        max((tail.loaded.get(epoch, 0) for tail in tails.values()), default=0),
        max(tail.trace for tail in tails.values()),
        frozenset().union(*(tail.published.get(epoch, ()) for tail in tails.values())),
    )
