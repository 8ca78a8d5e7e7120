"""Answers reads: from the cache where it may answer, else from the database."""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Final, Generic, NamedTuple, Protocol, TypeVar

import msgspec
import structlog

from hive.errors import (
    ClosedStoreError,
    ColdShardError,
    InputError,
    NoSuchObjectError,
    UnansweredError,
)
from query_api.cached_objects import CachedObjects
from query_api.database_answer import DatabaseAnswer
from query_api.facts import Facts
from query_api.latest.latest_log import LatestLog
from query_api.latest.log_history import LogHistory
from query_api.positions import Position
from query_api.reads.read import Read
from query_api.reasons import Reason, Source
from query_api.requirement import Requirement
from query_api.resolver.decision import Verdict, decide
from query_api.resolver.loads import Loads
from query_api.resolver.rival import Rival
from query_api.resolver.shard_facts import look
from query_api.shards import Moment, Views
from query_api.targets import Target, TargetKind, of_database
from state import entries, keys
from state.shard_reader import ShardReader

A = TypeVar("A")
LATEST_WAIT_S: Final = 0.005
"""How long `latest` waits for a shard. Meanwhile the database is asked, unless the caller said how
long to wait: it answers sooner than many an event comes, and those that come later cost most."""
POSITION_WAIT_S: Final = 0.25
RETRY_AFTER_S: Final = 1.0
LONG_READS: Final = 4
"""The number of long reads that run concurrently, each in a thread."""
_STORE_ERRORS: Final = (ClosedStoreError, ColdShardError)

log = structlog.get_logger(__name__)


class Database(Protocol):
    """The metastore's database, which answers misses and tells what is current."""

    @property
    def history(self) -> LogHistory: ...

    async def answer(self, read: Read[A], /) -> DatabaseAnswer[A]: ...

    async def after_now(self, reached: Position, /) -> LatestLog | None: ...


class ReadAnswer(NamedTuple, Generic[A]):
    """A value, and on what grounds it was given."""

    value: A | NoSuchObjectError
    source: Source
    reason: Reason
    position: Position
    detail: str = ""
    moment: Moment | None = None
    """What it was made of, if it depends on nothing else: the same question has the same answer
    as long as none of it changes. `latest` depends on the database, too."""


class Judged(NamedTuple):
    """The decision about one target in one snapshot."""

    target: Target
    facts: Facts
    verdict: Verdict
    reader: ShardReader | None
    by_list: Target | None = None
    """The target of the list of names, if it shows that the table doesn't exist."""


class Miss(NamedTuple):
    """Why the cache doesn't answer."""

    reason: Reason
    judged: Judged | None = None
    """The target that can't be served; None if a read needs nothing that is cached."""

    @property
    def detail(self) -> str:
        return "" if self.judged is None else self.judged.facts.detail


class Resolver:
    """Decides for each read who answers it.

    1. The decision about a target and the read of it use the same snapshot.
    2. Any failure of a store is a miss.
    3. Long reads don't hold up the others.
    """

    def __init__(self, views: Views, database: Database) -> None:
        self._views = views
        self._database = database
        self._history = database.history
        self._loads = Loads(views.source)
        self._threads = ThreadPoolExecutor(LONG_READS, "reads")

    def close(self) -> None:
        """Ends its threads."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def is_rewound(self, epoch: int) -> bool:
        """Whether this epoch is rewound, so that nothing of it may be served."""
        return self._history.is_rewound(epoch)

    async def answer(
        self, read: Read[A], requirement: Requirement, latest_read: LatestLog | None = None
    ) -> ReadAnswer[A]:
        """Answers a read. Raises InputError if the request makes no sense, UnansweredError if
        nobody can answer.
        """
        rival = Rival(partial(self._ask_database, read))
        try:
            outcome = await self.cached(read, requirement, latest_read, rival)
            if isinstance(outcome, ReadAnswer):
                return outcome
            if outcome.reason is Reason.NO_LIST and outcome.judged is not None:
                raise InputError(
                    f"{outcome.judged.target.name} has write ids: pass write_ids and a positive "
                    "table_id, or ask for consistency latest"
                )
            return await self._from_database(outcome, rival, requirement.min_position)
        finally:
            rival.leave()

    async def cached(
        self,
        read: Read[A],
        requirement: Requirement,
        latest_read: LatestLog | None = None,
        rival: Rival[Any] | None = None,
    ) -> ReadAnswer[A] | Miss:
        """The cache's answer, after waiting for it as long as that is worthwhile.

        `latest_read` is a read of the log for this request, if one was made already. `rival` may
        begin while this waits, and ends the wait when it has the answer.
        """
        try:
            judged, latest = await self._judge(read, requirement, latest_read, rival)
            if _first_miss(judged) is not None or not judged or not read.is_long:
                return self._settled(read, requirement, judged)
            own = self._look(read, requirement, latest, own=True)
            miss = _first_miss(own)
            if miss is not None:
                return Miss(miss.verdict.reason, miss)
            return await self._serve_long(read, requirement, judged, own)
        except _STORE_ERRORS as error:
            return _unreadable(read, error)

    def cached_now(self, read: Read[A], requirement: Requirement) -> ReadAnswer[A] | Miss | None:
        """The cache's answer without any waiting; None if only `cached` can tell."""
        if requirement.latest or read.is_long:
            return None
        try:
            judged = self._look(read, requirement, None)
            return None if _worth_waiting(judged) else self._settled(read, requirement, judged)
        except _STORE_ERRORS as error:
            return _unreadable(read, error)

    def want(self, miss: Miss) -> None:
        """Requests a load of what was missed, if it is cold."""
        if miss.judged is not None and miss.reason is Reason.COLD:
            self._loads.ask(miss.judged.target, miss.judged.facts)

    def shard_of(self, miss: Miss) -> int | None:
        """The shard that would have answered."""
        return None if miss.judged is None else self._views.shard_of(miss.judged.target)

    def _settled(
        self, read: Read[A], requirement: Requirement, judged: Sequence[Judged]
    ) -> ReadAnswer[A] | Miss:
        miss = _first_miss(judged)
        if miss is not None:
            return Miss(miss.verdict.reason, miss)
        if not judged:
            return Miss(Reason.DATABASE_ONLY)
        moment = self._moment(requirement, judged, judged)
        return _serve(read, judged)._replace(moment=moment)

    async def _serve_long(
        self,
        read: Read[A],
        requirement: Requirement,
        judged: Sequence[Judged],
        own: Sequence[Judged],
    ) -> ReadAnswer[A]:
        """Serves a long read in a thread, from snapshots of its own."""
        moment = self._moment(requirement, judged, own)
        loop = asyncio.get_running_loop()
        answer = await loop.run_in_executor(self._threads, _serve, read, own)
        return answer._replace(moment=moment)

    def _moment(
        self, requirement: Requirement, judged: Sequence[Judged], served: Sequence[Judged]
    ) -> Moment | None:
        """The moment of an answer, if `served` was looked at in the same state of the shard as
        `judged`.
        """
        reader, number = judged[0].reader, self._views.shard_of(judged[0].target)
        if reader is None or any(judgement.reader is not reader for judgement in judged):
            return None
        head = Position(reader.head.epoch, reader.head.applied)
        if not requirement.latest and any(
            judgement.verdict.position != head for judgement in served
        ):
            return None
        targets = (judgement.target for judgement in judged)
        by_list = (judgement.by_list for judgement in judged if judgement.by_list is not None)
        return self._views.moment(number, reader, (*targets, *by_list))

    async def _ask_database(self, read: Read[A]) -> tuple[A | NoSuchObjectError, Position]:
        reached = self._views.reached
        answer = await self._database.answer(read)
        self._history.check_position(reached.epoch, reached.event, answer.event)
        return answer.value, Position(reached.epoch, answer.event)

    async def _from_database(
        self,
        miss: Miss,
        rival: Rival[tuple[A | NoSuchObjectError, Position]],
        least: Position | None,
    ) -> ReadAnswer[A]:
        try:
            value, position = await rival.answer()
            _check_reached(position, least)
        except UnansweredError as error:
            raise UnansweredError(
                f"{error}; the cache can't answer ({miss.reason})", error.retry_after_s
            ) from error
        if not isinstance(value, NoSuchObjectError):
            self.want(miss)
        return ReadAnswer(value, Source.DATABASE, miss.reason, position, miss.detail)

    async def _judge(
        self,
        read: Read[Any],
        requirement: Requirement,
        latest_read: LatestLog | None,
        rival: Rival[Any] | None,
    ) -> tuple[list[Judged], LatestLog | None]:
        """Judges the targets, with what the database says if it must be asked."""
        judged = self._look(read, requirement, None)
        if requirement.latest:
            if not all(map(_may_serve, judged)):
                return judged, None
            return await self._judge_latest(read, requirement, judged, latest_read, rival)
        wait_s = _wait_s(requirement, POSITION_WAIT_S)
        if not _worth_waiting(judged):
            return judged, None
        judged = await self._wait(read, requirement, judged, wait_s, None)
        if not _worth_waiting(judged):
            return judged, None
        # What no event has touched since is complete up to now, however far the shard is.
        latest = await self._database.after_now(_lowest(judged))
        return self._look(read, requirement, latest), latest

    async def _judge_latest(
        self,
        read: Read[Any],
        requirement: Requirement,
        judged: Sequence[Judged],
        latest_read: LatestLog | None,
        rival: Rival[Any] | None,
    ) -> tuple[list[Judged], LatestLog | None]:
        if not judged:
            return [], None
        latest = latest_read or await self._database.after_now(_lowest(judged))
        again = self._look(read, requirement, latest)
        if latest is None or not _worth_waiting(again):
            return again, latest
        wait_s = _wait_s(requirement, LATEST_WAIT_S)
        rival = None if requirement.max_wait_ms is not None else rival
        return await self._wait(read, requirement, again, wait_s, latest, rival), latest

    async def _wait(
        self,
        read: Read[Any],
        requirement: Requirement,
        judged: Sequence[Judged],
        wait_s: float,
        latest: LatestLog | None,
        rival: Rival[Any] | None = None,
    ) -> list[Judged]:
        """Waits for all shards that lag, and judges again."""
        waits = []
        for judgement in judged:
            shard = self._views.source.shard(self._views.shard_of(judgement.target))
            if judgement.verdict.wait_for is not None and shard is not None and wait_s > 0:
                waits.append(shard.complete_up_to(*judgement.verdict.wait_for, wait_s))
        if waits:
            shards = asyncio.gather(*waits)
            await (shards if rival is None else rival.race(shards))
        return self._look(read, requirement, latest)

    def _look(
        self,
        read: Read[Any],
        requirement: Requirement,
        latest: LatestLog | None,
        *,
        own: bool = False,
    ) -> list[Judged]:
        """Judges all targets, those of one shard in one snapshot; `own` asks for snapshots that
        aren't shared.
        """
        reader_of = self._views.own_reader if own else self._views.reader
        sight = _Sight(self._views, reader_of, self._history, requirement, latest)
        judged = [sight.judge(target) for target in read.targets]
        if judged and all(map(_may_serve, judged)):
            further = read.further(CachedObjects(_reader_of(judged)))
            judged += [sight.judge(target) for target in further]
        return judged


class _Sight:
    """One look at the shards: the newest snapshot of each, taken when it is first needed."""

    def __init__(
        self,
        views: Views,
        reader_of: Callable[[int], ShardReader | None],
        history: LogHistory,
        requirement: Requirement,
        latest: LatestLog | None,
    ) -> None:
        self._views = views
        self._reader_of = reader_of
        self._history = history
        self._requirement = requirement
        self._found = latest
        self._readers: dict[int, ShardReader | None] = {}

    def judge(self, target: Target) -> Judged:
        """Judges one target. A table of which nothing is known doesn't exist if the list of names
        is known and lacks it.
        """
        judged = self._judge_once(target)
        if judged.verdict.reason is not Reason.COLD or not target.is_of_table:
            return judged
        if self._requirement.write_ids is not None or not _is_absent(judged.reader, target):
            return judged
        listed = self._judge_once(of_database(TargetKind.NAMES, target.db))
        # Unread is what may serve once the database has told what is current.
        may_serve = listed.verdict.serves or listed.verdict.reason is Reason.UNREAD
        if may_serve and not _has(listed.reader, keys.name(target.db, target.name.table)):
            return listed._replace(target=target, by_list=listed.target)
        return judged

    def _judge_once(self, target: Target) -> Judged:
        reader = None
        try:
            reader = self._reader(self._views.shard_of(target))
            if reader is None:
                facts = Facts(Position(0, 0), Reason.NOT_OWNED)
            else:
                with_ids = self._requirement.write_ids is not None
                facts = look(reader, target, with_ids=with_ids)
        except _STORE_ERRORS as error:
            return _store_error(target, str(error))
        if facts.refused is None and self._is_of_another_history(facts.reached.epoch):
            facts = msgspec.structs.replace(facts, refused=Reason.REWOUND)
        if facts.former_names:
            self._history.former_names[target.name] = facts.former_names
        current = None
        if self._found is not None:
            current = self._found.about(target, facts.reached.event)
        return Judged(target, facts, decide(facts, self._requirement, current), reader)

    def _is_of_another_history(self, epoch: int) -> bool:
        if self._history.is_rewound(epoch):
            return True
        return self._found is not None and epoch != self._found.epoch

    def _reader(self, shard: int) -> ShardReader | None:
        if shard not in self._readers:
            self._readers[shard] = self._reader_of(shard)
        return self._readers[shard]


def _reader_of(judged: Sequence[Judged]) -> Callable[[Target], ShardReader]:
    readers = {judgement.target: judgement.reader for judgement in judged}
    of_tables = {
        judgement.target.name: judgement.reader
        for judgement in judged
        if judgement.target.is_of_table
    }

    def reader_of(target: Target) -> ShardReader:
        reader = readers.get(target) or of_tables.get(target.name)
        assert reader is not None, f"{target} was not judged"
        return reader

    return reader_of


def _serve(read: Read[A], judged: Sequence[Judged]) -> ReadAnswer[A]:
    position = min(judgement.verdict.position for judgement in judged)
    reason = max(
        (judgement.verdict.reason for judgement in judged), key=(Reason.FRESH, Reason.NEWER).index
    )
    value: A | NoSuchObjectError
    try:
        value = read.answer(CachedObjects(_reader_of(judged)))
    except NoSuchObjectError as missing:
        value = missing
    return ReadAnswer(value, Source.CACHE, reason, position)


def _may_serve(judged: Judged) -> bool:
    """Whether the target may be served as far as that is known without the database."""
    return judged.verdict.serves or judged.verdict.reason is Reason.UNREAD


def _check_reached(position: Position, least: Position | None) -> None:
    """Raises if the database, which may be a replica, lags behind the requirement or is of an
    earlier epoch.
    """
    if least is not None and position < least:
        raise UnansweredError(
            f"the metastore's database has reached {position}, and does not answer for {least}",
            RETRY_AFTER_S,
        )


def _first_miss(judged: Sequence[Judged]) -> Judged | None:
    """The first reason that holds by itself, rather than one that the database might remove."""
    misses = [judgement for judgement in judged if not judgement.verdict.serves]
    return next(
        (judgement for judgement in misses if not _may_serve(judgement)), next(iter(misses), None)
    )


def _unreadable(read: Read[Any], error: Exception) -> Miss:
    log.warning("a store can't be read", error=str(error))
    return Miss(Reason.STORE_ERROR, _store_error(read.targets[0], str(error)))


def _store_error(target: Target, why: str) -> Judged:
    nowhere = Position(0, 0)
    facts = Facts(nowhere, Reason.STORE_ERROR, why)
    return Judged(target, facts, Verdict(Reason.STORE_ERROR, nowhere), None)


def _worth_waiting(judged: Sequence[Judged]) -> bool:
    """Whether all obstacles may disappear once the shards have moved on."""
    misses = [judgement for judgement in judged if not judgement.verdict.serves]
    return bool(misses) and all(judgement.verdict.wait_for is not None for judgement in misses)


def _lowest(judged: Sequence[Judged]) -> Position:
    return min(judgement.facts.reached for judgement in judged)


def _wait_s(requirement: Requirement, default_s: float) -> float:
    asked_ms = requirement.max_wait_ms
    return default_s if asked_ms is None else asked_ms / 1000


def _is_absent(reader: ShardReader | None, target: Target) -> bool:
    return reader is not None and reader.table(target.name) is None


def _has(reader: ShardReader | None, key: bytes) -> bool:
    value: Any = None if reader is None else reader.view.get(key)
    return value is not None and entries.is_live(value)
