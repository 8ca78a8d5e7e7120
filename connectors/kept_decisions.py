"""Keeps operators' decisions when a topic is trimmed: who begins from what is left must learn them.

A decision is written again behind everything, under its own version. So it changes nothing where it
is known, and gives way to a later one that a connector writes meanwhile.
"""

from collections.abc import Mapping
from typing import Final

from msgspec import structs

from connectors.publish.headers import RecordHeaders, RecordKind
from connectors.publish.publisher import write_now
from hive.errors import RecordFormatError
from state.records import Pause, SetLists, decode, type_of
from state.records.numbers import NATURAL_MAX, supersedes
from state.topic import Topic
from state.topic.client import topic_bounds
from state.topic.partitions import PartitionsReader

Decision = SetLists | Pause
_UNDECIDED: Final[tuple[Decision, ...]] = (SetLists(0, 0, (), ()), Pause(0, 0, paused=False))
_HEAD: Final = RecordHeaders(RecordKind.CONTROL, 0)
"""A decision holds in any epoch, and connectors shall learn none from its record."""


class Standing:
    """The decisions that hold after some records of a shard, as the fold sees it."""

    def __init__(self) -> None:
        self.decisions: dict[type[Decision], tuple[int, Decision]] = {
            type(decision): (-1, decision) for decision in _UNDECIDED
        }
        """The last decision of each kind, with its offset."""

    def see(self, offset: int, decision: Decision) -> None:
        _, current = self.decisions[type(decision)]
        if supersedes(decision.version, current.version):
            self.decisions[type(decision)] = offset, decision


def keep_decisions(topic: Topic, cuts: Mapping[int, int]) -> dict[int, int]:
    """Writes again what only records before these offsets decide; returns the offsets up to which
    records may go.

    A decision of the greatest version stays where it is: written again, it would undo one that is
    given meanwhile.
    """
    bounds = topic_bounds(topic)
    allowed = dict(cuts)
    standing = {shard: Standing() for shard in cuts}
    left = {shard: Standing() for shard in cuts}
    trimmed = {
        shard: bounds[shard].first for shard, cut in cuts.items() if bounds[shard].first < cut
    }
    with PartitionsReader(topic) as reader:
        for message in reader.read(trimmed, {shard: bounds[shard].end for shard in trimmed}):
            decision = _decision_in(message.value() or b"")
            if decision is None:
                continue
            shard, offset = message.partition(), message.offset()
            standing[shard].see(offset, decision)
            if offset >= cuts[shard]:
                left[shard].see(offset, decision)
    for shard in trimmed:
        for kind, (offset, decision) in standing[shard].decisions.items():
            if _same(decision, left[shard].decisions[kind][1]):
                continue
            if decision.version == NATURAL_MAX:
                allowed[shard] = min(allowed[shard], offset)
                continue
            write_now(topic, decision, _HEAD, [shard])
    return allowed


def _decision_in(value: bytes) -> Decision | None:
    if type_of(value) not in (SetLists.__name__, Pause.__name__):
        return None
    try:
        record = decode(value)
    except RecordFormatError:
        return None
    return record if isinstance(record, SetLists | Pause) else None


def _same(first: Decision, second: Decision) -> bool:
    """Whether both decide the same, whenever they were given."""
    return structs.replace(first, epoch=0, version=0) == structs.replace(second, epoch=0, version=0)
