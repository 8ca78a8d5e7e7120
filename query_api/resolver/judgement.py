"""What was decided about the targets of a read."""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from hive.names import TableName
from query_api.facts import Facts
from query_api.positions import Position
from query_api.reasons import Reason
from query_api.resolver.decision import Verdict
from query_api.targets import Target
from state.shard_reader import ShardReader

_FEW: Final = 4
"""So many judgements are searched in less time than it takes to index them."""


class Judgement(NamedTuple):
    """The decision about one target in one snapshot."""

    target: Target
    facts: Facts
    verdict: Verdict
    reader: ShardReader | None
    shard: int
    """The shard that the target was judged in, which need not be its own."""
    by_list: Target | None = None
    """The list of names, if it is what shows that the table doesn't exist."""

    @property
    def mark(self) -> int:
        """The mark of the row of the snapshot's last event; 0 if it isn't known."""
        return 0 if self.reader is None else self.reader.head.mark


def store_error(target: Target, why: str, shard: int) -> Judgement:
    """The judgement about a target whose store can't be read."""
    return _refused(target, Reason.STORE_ERROR, why, shard)


def not_owned(target: Target, shard: int) -> Judgement:
    """The judgement about a target whose shard another worker has."""
    return _refused(target, Reason.NOT_OWNED, "", shard)


def _refused(target: Target, reason: Reason, why: str, shard: int) -> Judgement:
    nowhere = Position(0, 0)
    return Judgement(target, Facts(nowhere, reason, why), Verdict(reason, nowhere), None, shard)


def may_serve(judgement: Judgement) -> bool:
    """Whether the target may be served, as far as can be told without the database."""
    return judgement.verdict.serves or judgement.verdict.reason is Reason.UNREAD


def first_miss(judged: Sequence[Judgement]) -> Judgement | None:
    """The first miss that asking the database can't remove; if there is none, the first miss."""
    misses = [judgement for judgement in judged if not judgement.verdict.serves]
    return next(
        (judgement for judgement in misses if not may_serve(judgement)), next(iter(misses), None)
    )


def worth_waiting(judged: Sequence[Judgement]) -> bool:
    """Whether all obstacles may disappear once the shards have moved on."""
    lags = False
    for judgement in judged:
        if not judgement.verdict.serves:
            if judgement.verdict.wait_for is None:
                return False
            lags = True
    return lags


def lowest(judged: Sequence[Judgement]) -> Position:
    """The position up to which all snapshots are complete."""
    return min(judgement.facts.reached for judgement in judged)


def highest(judged: Sequence[Judgement]) -> Position:
    """The position of the snapshot that is complete up to the latest event."""
    return max(judgement.facts.reached for judgement in judged)


def reader_of(judged: Sequence[Judgement]) -> Callable[[Target], ShardReader]:
    """Gives the snapshot in which a target was judged. Targets of one table share one."""
    index = _indexed(judged) if len(judged) > _FEW else None

    def reader_of_target(target: Target) -> ShardReader:
        key = _shared(target)
        if index is None:
            judgement = next((each for each in judged if _shared(each.target) == key), None)
        else:
            judgement = index.get(key)
        assert judgement is not None, f"{target} was not judged"
        assert judgement.reader is not None
        return judgement.reader

    return reader_of_target


def _indexed(judged: Sequence[Judgement]) -> dict[Target | TableName, Judgement]:
    return {_shared(judgement.target): judgement for judgement in reversed(judged)}


def _shared(target: Target) -> Target | TableName:
    return target.name if target.is_of_table else target
