"""Answers reads from the cache where it may answer, otherwise from the database."""

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from time import perf_counter
from typing import Any, Final, TypeVar

from hive.errors import InputError, NoSuchObjectError, UnansweredError
from query_api.hot_tables import SharedReader
from query_api.latest.log_end import LogEnd
from query_api.latest.recent_reads import RecentReads
from query_api.positions import Position
from query_api.reads.read import Read
from query_api.reasons import Reason, Source
from query_api.requirement import Requirement
from query_api.resolver.answer import Miss, ReadAnswer, moment_of, serve, settle, unreadable
from query_api.resolver.database import Database
from query_api.resolver.fallback_latency import FallbackLatency
from query_api.resolver.inspection import STORE_ERRORS, Inspection
from query_api.resolver.judgement import (
    Judgement,
    first_miss,
    highest,
    lowest,
    may_serve,
    not_owned,
    worth_waiting,
)
from query_api.resolver.loads import Loads
from query_api.resolver.missed_tables import MissedTables
from query_api.resolver.plain_reads import PlainReads
from query_api.shards import Views
from query_api.targets import OF_TABLE, TargetKind

A = TypeVar("A")
POSITION_WAIT_S: Final = 0.25
"""How long a read that requires a position waits for shards, unless the caller set a wait."""
RETRY_AFTER_S: Final = 1.0
EPOCH_WAIT_S: Final = 3.0
"""How long a read waits for a worker that has just begun to learn the topic's epoch."""
_EPOCH_POLL_S: Final = 0.02
_NO_EPOCH: Final = (
    "the brokers haven't told yet which epoch the topic has reached, without which the database's "
    "answer has no position"
)
LONG_READS: Final = 4
"""The number of long reads that run concurrently, each in a thread."""


class Resolver:
    """Decides for each read who answers it.

    1. The decision about a target and the read of it use the same snapshot.
    2. A store that fails means a miss.
    3. Long reads don't hold up the others.
    """

    def __init__(self, views: Views, database: Database, recent: RecentReads) -> None:
        self._views = views
        self._database = database
        self._recent = recent
        self._history = database.history
        self._loads = Loads(views.source)
        self.missed = MissedTables()
        self.metastore_latency = FallbackLatency()
        self._database_latency = FallbackLatency()
        self._plain = PlainReads(views, self.is_rewound)
        self._threads = ThreadPoolExecutor(LONG_READS, "reads")

    def close(self) -> None:
        """Ends its threads."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def is_rewound(self, epoch: int) -> bool:
        """Whether this epoch is rewound or over, so that its answers may not be served."""
        return self._history.is_rewound(epoch) or self._views.is_over(epoch)

    # Overridden in `traced_resolver.py`.
    async def answer(
        self, read: Read[A], requirement: Requirement, log_end: LogEnd | None = None
    ) -> ReadAnswer[A]:
        """Answers a read. Raises InputError if the request makes no sense, UnansweredError if
        nobody can answer.
        """
        outcome = self.cached_now(read, requirement) if requirement.takes_any else None
        if outcome is None:
            outcome = await self.cached(read, requirement, log_end, self._database_latency)
        if isinstance(outcome, ReadAnswer):
            return outcome
        if outcome.reason is Reason.NO_LIST and outcome.judgement is not None:
            raise InputError(
                f"{outcome.judgement.target.name} has write ids: pass write_ids and a positive "
                "table_id, or ask for consistency latest"
            )
        return await self._from_database(read, outcome, requirement.min_position)

    async def cached(
        self,
        read: Read[A],
        requirement: Requirement,
        log_end: LogEnd | None = None,
        latency: FallbackLatency | None = None,
    ) -> ReadAnswer[A] | Miss:
        """The cache's answer; waits for lagging shards while that is worthwhile.

        `log_end` is a read of the log that was already made for this request. `latency` is that of
        whoever answers otherwise, a metastore by default.
        """
        try:
            latency = latency or self.metastore_latency
            judged, log_end = await self._judge(read, requirement, log_end, latency)
            if first_miss(judged) is not None or not judged:
                return settle(self._views, read, requirement, judged)
            is_long, served = self._is_long(read), judged
            if is_long:
                served = self._judge_now(read, requirement, log_end, unshared=True)
                miss = first_miss(served)
                if miss is not None:
                    return Miss(miss.verdict.reason, miss)
            if log_end is not None and requirement.must_be_current and not requirement.max_age_ms:
                why = await self._why_unconfirmed(served, log_end)
                if why is not None:
                    return Miss(why, served[0])
            if not is_long:
                return settle(self._views, read, requirement, judged)
            return await self._serve_long(read, requirement, judged, served)
        except STORE_ERRORS as error:
            return unreadable(self._views, read, error)

    def cached_now(self, read: Read[A], requirement: Requirement) -> ReadAnswer[A] | Miss | None:
        """The cache's answer without any waiting; None if only `cached` can tell."""
        try:
            if self._is_long(read):
                return None
            if requirement.takes_any:
                answer = self._plain.answer(read)
                if answer is not None:
                    return answer
            elsewhere = self._elsewhere(read)
            if elsewhere is not None:
                return elsewhere
            if requirement.must_be_current:
                recent = self._judge_by_recent(read, requirement)
                return None if recent is None else settle(self._views, read, requirement, recent[0])
            if requirement.takes_any:
                return self._answer_and_remember(read, requirement)
            judged = self._judge_now(read, requirement, None)
            return None if worth_waiting(judged) else settle(self._views, read, requirement, judged)
        except STORE_ERRORS as error:
            return unreadable(self._views, read, error)

    def _elsewhere(self, read: Read[Any]) -> Miss | None:
        """The miss of a read whose targets are all in one shard of another worker: nothing that is
        here need be judged.
        """
        targets = read.targets
        if not targets:
            return None
        shard = self._views.shard_of(targets[0])
        if self._views.source.shard(shard) is not None:
            return None
        if any(self._views.shard_of(target) != shard for target in targets[1:]):
            return None
        return Miss(Reason.NOT_OWNED, not_owned(targets[0], shard))

    # Overridden in `traced_resolver.py`.
    async def ask_database(self, read: Read[A]) -> tuple[A | NoSuchObjectError, Position]:
        """The database's answer, and its position. Raises UnansweredError if it doesn't answer, or
        if its position can't be told."""
        if not self._views.knows_epoch:
            await self._await_epoch()
        reached, began_s = self._views.reached, perf_counter()
        answer = await self._database.answer(read)
        if not read.is_long:
            self._database_latency.note(perf_counter() - began_s)
        self._history.check_position(reached.epoch, reached.event, answer.event)
        return answer.value, Position(reached.epoch, answer.event)

    async def _await_epoch(self) -> None:
        """Waits until the brokers have told the topic's epoch. Raises UnansweredError if they take
        too long."""
        loop = asyncio.get_running_loop()
        ends_s = loop.time() + EPOCH_WAIT_S
        while not self._views.knows_epoch:
            if loop.time() >= ends_s:
                raise UnansweredError(_NO_EPOCH, RETRY_AFTER_S)
            await asyncio.sleep(_EPOCH_POLL_S)

    def _answer_and_remember(self, read: Read[A], requirement: Requirement) -> ReadAnswer[A] | Miss:
        """Answers a read that takes any state, and remembers on what grounds for others like it."""
        judged = self._judge_now(read, requirement, None)
        outcome = settle(self._views, read, requirement, judged)
        if isinstance(outcome, ReadAnswer):
            self._plain.remember(read, judged, outcome)
        return outcome

    def record_miss(self, miss: Miss) -> None:
        """Counts a miss, and requests a load of its target if that is cold."""
        if miss.judgement is not None and miss.judgement.target.kind in OF_TABLE:
            self.missed.note(miss.judgement.target.name, miss.reason)
        if miss.judgement is not None and miss.reason is Reason.COLD:
            self._loads.ask(miss.judgement.shard, miss.judgement.target, miss.judgement.facts)

    def _is_long(self, read: Read[Any]) -> bool:
        """Whether a read is to run in a thread."""
        if not read.is_long or read.all_partitions_of is None:
            return read.is_long
        table = read.all_partitions_of
        reader = self._views.reader(self._views.shard_of_table(table))
        return not isinstance(reader, SharedReader) or not reader.has_few_partitions(table)

    async def _serve_long(
        self,
        read: Read[A],
        requirement: Requirement,
        judged: Sequence[Judgement],
        served: Sequence[Judgement],
    ) -> ReadAnswer[A]:
        """Serves a long read in a thread, from snapshots of its own, in which it was judged again
        (`served`)."""
        moment = moment_of(self._views, requirement, judged, served)
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, serve, read, served, moment)

    async def _from_database(
        self,
        read: Read[A],
        miss: Miss,
        min_position: Position | None,
    ) -> ReadAnswer[A]:
        try:
            # In two steps: where it takes the tuple apart, mypy infers a wider type for the read.
            answer = await self.ask_database(read)
            value, position = answer
            _check_reached(position, min_position)
        except UnansweredError as error:
            raise UnansweredError(
                f"{error}; the cache can't answer ({miss.reason})", error.retry_after_s
            ) from error
        target = None if miss.judgement is None else miss.judgement.target
        # The list of databases tells of a missing one, too, and of the tables in it.
        is_of_list = target is not None and target.kind is TargetKind.DATABASE
        if is_of_list or not isinstance(value, NoSuchObjectError):
            self.record_miss(miss)
        return ReadAnswer(value, Source.DATABASE, miss.reason, position, miss.detail)

    # Overridden in `traced_resolver.py`.
    async def _judge(
        self,
        read: Read[Any],
        requirement: Requirement,
        log_end: LogEnd | None,
        latency: FallbackLatency,
    ) -> tuple[list[Judgement], LogEnd | None]:
        """Judges the targets; asks the database for newer events if that is needed."""
        recent = self._judge_by_recent(read, requirement)
        if recent is not None:
            return recent
        judged = self._judge_now(read, requirement, None)
        if requirement.must_be_current:
            if not all(map(may_serve, judged)):
                return judged, None
            return await self._judge_current(read, requirement, judged, log_end, latency)
        wait_s = _wait_s(requirement, POSITION_WAIT_S)
        if not worth_waiting(judged):
            return judged, None
        judged = await self._wait(read, requirement, judged, wait_s, None)
        if not worth_waiting(judged):
            return judged, None
        # A target that no newer event touches is complete, however far the shard lags.
        log_end = await self._database.after_now(lowest(judged))
        return self._judge_now(read, requirement, log_end), log_end

    def _judge_by_recent(
        self, read: Read[Any], requirement: Requirement
    ) -> tuple[list[Judgement], LogEnd] | None:
        """Judges the targets by a recent read; None if none lets the cache answer."""
        if not requirement.max_age_ms:
            return None
        for log in self._recent.within(requirement.max_age_ms):
            judged = self._judge_now(read, requirement, log)
            if first_miss(judged) is None:
                return judged, log
        return None

    async def _judge_current(
        self,
        read: Read[Any],
        requirement: Requirement,
        judged: Sequence[Judgement],
        log_end: LogEnd | None,
        latency: FallbackLatency,
    ) -> tuple[list[Judgement], LogEnd | None]:
        if not judged:
            return [], None
        log_end = log_end or await self._database.after_now(lowest(judged))
        again = self._judge_now(read, requirement, log_end)
        if log_end is None or not worth_waiting(again):
            return again, log_end
        wait_s = _wait_s(requirement, latency.wait_s)
        return await self._wait(read, requirement, again, wait_s, log_end), log_end

    async def _why_unconfirmed(self, served: Sequence[Judgement], log_end: LogEnd) -> Reason | None:
        """Why it isn't certain that snapshots are of the database's history; None if it is.

        A shard may go on while the log is read. What it applies meanwhile can be events that the
        database had lost before that read: only a later one, from there on, tells.
        """
        furthest = highest(served)
        if furthest <= Position(log_end.epoch, log_end.current):
            return None
        later = await self._database.after_now(furthest)
        if later is None:
            return Reason.UNREAD
        if any(later.denies(judgement.facts.reached, judgement.mark) for judgement in served):
            self._history.rewind(furthest.epoch)
        return Reason.REWOUND if self.is_rewound(furthest.epoch) else None

    # Overridden in `traced_resolver.py`.
    async def _wait(
        self,
        read: Read[Any],
        requirement: Requirement,
        judged: Sequence[Judgement],
        wait_s: float,
        log_end: LogEnd | None,
    ) -> list[Judgement]:
        """Waits for all shards that lag, and judges again."""
        waits = []
        for judgement in judged:
            shard = self._views.source.shard(judgement.shard)
            if judgement.verdict.wait_for is not None and shard is not None and wait_s > 0:
                waits.append(shard.complete_up_to(*judgement.verdict.wait_for, wait_s))
        if waits:
            await asyncio.gather(*waits)
        return self._judge_now(read, requirement, log_end)

    def _judge_now(
        self,
        read: Read[Any],
        requirement: Requirement,
        log_end: LogEnd | None,
        *,
        unshared: bool = False,
    ) -> list[Judgement]:
        """Judges all targets; `unshared` asks for snapshots that no other read uses."""
        views = self._views
        snapshot_of = views.own_reader if unshared else views.reader
        return Inspection(views, snapshot_of, self._history, requirement, log_end).judge(read)


def _check_reached(position: Position, min_position: Position | None) -> None:
    """Raises if the database, which may be a replica, lags behind the requirement or is of an
    earlier epoch.
    """
    if min_position is not None and position < min_position:
        raise UnansweredError(
            f"the metastore's database has reached {position}, and does not answer for "
            f"{min_position}",
            RETRY_AFTER_S,
        )


def _wait_s(requirement: Requirement, default_s: float) -> float:
    asked_ms = requirement.max_wait_ms
    return default_s if asked_ms is None else asked_ms / 1000
