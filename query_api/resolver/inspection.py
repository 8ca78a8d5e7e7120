"""Judges the targets of a read in the snapshots of one moment."""

from collections.abc import Callable
from typing import Any, Final

import msgspec

from hive.errors import ClosedStoreError, ColdShardError
from query_api.cached_objects import CachedObjects
from query_api.facts import Facts
from query_api.latest.log_end import LogEnd
from query_api.latest.log_history import LogHistory
from query_api.positions import Position
from query_api.reads.read import Read
from query_api.reasons import Reason
from query_api.requirement import Requirement
from query_api.resolver.decision import decide
from query_api.resolver.judgement import Judgement, may_serve, reader_of, store_error
from query_api.resolver.shard_facts import cached_facts, read_facts
from query_api.shards import Views
from query_api.targets import Target, TargetKind, of_database
from state import entries, keys
from state.shard_reader import ShardReader

STORE_ERRORS: Final = (ClosedStoreError, ColdShardError)


class Inspection:
    """Judges reads in the newest snapshot of each shard, taken when it is first needed."""

    def __init__(
        self,
        views: Views,
        snapshot_of: Callable[[int], ShardReader | None],
        history: LogHistory,
        requirement: Requirement,
        log_end: LogEnd | None,
    ) -> None:
        """`log_end` is what the database said, if it was asked."""
        self._views = views
        self._snapshot_of = snapshot_of
        self._history = history
        self._requirement = requirement
        self._log_end = log_end
        self._readers: dict[int, ShardReader | None] = {}

    def judge(self, read: Read[Any]) -> list[Judgement]:
        """Judges all targets of a read, using one snapshot per shard."""
        judged = [self._judge(target) for target in read.targets]
        if judged and all(map(may_serve, judged)):
            further = read.further(CachedObjects(reader_of(judged)))
            judged += [self._judge_beside(judged[0], target) for target in further]
        return judged

    def _judge_beside(self, first: Judgement, target: Target) -> Judgement:
        """Judges a further target. Every shard knows each database, and that of the first target
        knows it at the same moment: an answer about one table or list has one position.
        """
        if target.kind is not TargetKind.DATABASE:
            return self._judge(target)
        return self._judge_in(first.shard, target)

    def _judge(self, target: Target) -> Judgement:
        """Judges one target. A table that the shard knows nothing of doesn't exist if its
        database's list of names is known and lacks it.
        """
        judgement = self._judge_alone(target)
        if judgement.verdict.reason is not Reason.COLD or not target.is_of_table:
            return judgement
        if self._requirement.write_ids is not None or not _is_absent(judgement.reader, target):
            return judgement
        listed = self._judge_alone(of_database(TargetKind.NAMES, target.db))
        if may_serve(listed) and not _has(listed.reader, keys.name(target.db, target.name.table)):
            return listed._replace(target=target, by_list=listed.target)
        return judgement

    def _judge_alone(self, target: Target) -> Judgement:
        return self._judge_in(self._views.shard_of(target), target)

    def _judge_in(self, shard: int, target: Target) -> Judgement:
        reader = None
        try:
            reader = self._reader(shard)
            if reader is None:
                facts = Facts(Position(0, 0), Reason.NOT_OWNED)
            elif self._requirement.write_ids is None:
                facts = cached_facts(reader, target)
            else:
                facts = read_facts(reader, target, with_ids=True)
        except STORE_ERRORS as error:
            return store_error(target, str(error), shard)
        if facts.refused is None:
            assert reader is not None
            why = self._why_of_another_history(facts.reached, reader.head.mark)
            if why is not None:
                facts = msgspec.structs.replace(facts, refused=why)
        if target.has_former_names and (facts.former_names or facts.refused is None):
            applied = facts.reached.event
            self._history.former_names.note(target.name, facts.former_names, applied)
        current = None
        if self._log_end is not None:
            current = self._log_end.about(target, facts.reached.event)
        verdict = decide(facts, self._requirement, current)
        return Judgement(target, facts, verdict, reader, shard)

    def _why_of_another_history(self, reached: Position, mark: int) -> Reason | None:
        log_end = self._log_end
        if self._history.is_rewound(reached.epoch) or self._views.is_over(reached.epoch):
            return Reason.REWOUND
        if log_end is None:
            return None
        if log_end.denies(reached, mark):
            # The shard has gone on since the log was read. One of both has an event that was lost,
            # and only a later read of the log tells which.
            return Reason.GAP
        return Reason.REWOUND if reached.epoch != log_end.epoch else None

    def _reader(self, shard: int) -> ShardReader | None:
        if shard not in self._readers:
            self._readers[shard] = self._snapshot_of(shard)
        return self._readers[shard]


def _is_absent(reader: ShardReader | None, target: Target) -> bool:
    return reader is not None and reader.table(target.name) is None


def _has(reader: ShardReader | None, key: bytes) -> bool:
    return reader is not None and entries.live(reader.view.get(key)) is not None
