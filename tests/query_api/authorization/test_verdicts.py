"""What the metastore says of who may see what: how long it counts."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any, cast

import pytest
from structlog.testing import capture_logs

from hive.names import table_name
from query_api.authorization import verdicts
from query_api.authorization.areas import Area
from query_api.authorization.verdicts import MetastoreVerdicts
from query_api.backend import Backend
from query_api.latest.log_end import LogEnd
from query_api.latest.row_effects import EVERYTHING, RowEffects
from query_api.positions import Position
from query_api.resolver.shared_reads import LogEndReads
from query_api.targets import Target, TargetKind
from tests.query_api.http.read_client import EmptyDatabase
from tests.query_api.shards import MemoryShard, MemoryShards

pytestmark = pytest.mark.anyio
ORDERS, OTHER = Area("hive", "sales", "orders"), Area("hive", "sales", "other")
SALES = Area("hive", "sales")
TABLE = table_name(None, "sales", "orders")
NEIGHBOUR = table_name(None, "sales", "other")
FIRST = 5
NOW = Position(0, FIRST + 9)
"""Of an answer that lacks no event."""


class Caller:
    """A user for whom the metastore decides; each read of the metastore is noted."""

    def __init__(self, user: str = "ann", allowed: bool | None = True) -> None:
        self.user = self.key = user
        self.allowed = allowed
        self.areas: list[Area] = []
        self.meanwhile: Any = None

    async def may_read(self, area: Area) -> bool | None:
        self.areas.append(area)
        await asyncio.sleep(0)
        if self.meanwhile is not None:
            self.meanwhile()
        return self.allowed


class Log:
    """The log of a database, to which a test adds events."""

    def __init__(self) -> None:
        self.database = EmptyDatabase(LogEnd(0, FIRST, []))
        self._rows: list[tuple[int, RowEffects]] = []

    def add(self, effects: RowEffects) -> None:
        self._rows.append((FIRST + len(self._rows) + 1, effects))
        self.database.log = LogEnd(0, FIRST + len(self._rows), self._rows)


@pytest.fixture
async def log() -> Log:
    return Log()


@pytest.fixture
async def backend(log: Log) -> AsyncIterator[Backend]:
    backend = Backend(MemoryShards(MemoryShard()), log.database)
    yield backend
    await backend.close()


def verdicts_of(backend: Backend, valid_s: float = 60.0) -> MetastoreVerdicts:
    return MetastoreVerdicts(backend.log_end_reads, valid_s)


async def test_one_read_is_made_for_each_user_and_object(backend: Backend) -> None:
    own, ann, eve = verdicts_of(backend), Caller(), Caller("eve", allowed=False)
    for _ in range(3):
        assert await own.may_see(ann, {ORDERS}, NOW)
        assert await own.may_see(ann, {ORDERS, SALES}, NOW)
        assert not await own.may_see(eve, {ORDERS}, NOW)
    assert sorted(ann.areas) == [SALES, ORDERS]
    assert eve.areas == [ORDERS]


async def test_calls_at_the_same_time_share_it(backend: Backend) -> None:
    own, ann = verdicts_of(backend), Caller()
    assert all(await asyncio.gather(*(own.may_see(ann, {ORDERS}, NOW) for _ in range(9))))
    assert ann.areas == [ORDERS]


async def test_what_another_call_asked_meanwhile_is_not_asked_again(backend: Backend) -> None:
    own = verdicts_of(backend)

    class AsksTwice(Caller):
        async def may_read(self, area: Area) -> bool | None:
            if area == OTHER:
                assert await own.may_see(self, {ORDERS}, NOW)
            return await super().may_read(area)

    ann = AsksTwice()
    assert await own.may_see(ann, dict.fromkeys((OTHER, ORDERS)).keys(), NOW)
    assert ann.areas == [ORDERS, OTHER]


async def test_a_call_that_has_gone_is_no_failure_of_the_log(backend: Backend) -> None:
    own, ann = verdicts_of(backend), Caller()
    with capture_logs() as logs:
        gone = asyncio.create_task(own.may_see(ann, {ORDERS}, NOW))
        stays = asyncio.create_task(own.may_see(ann, {ORDERS}, NOW))
        await asyncio.sleep(0)
        gone.cancel()
        assert await stays
    assert not logs


@pytest.mark.parametrize("allowed", [None, False])
async def test_calls_at_the_same_time_share_a_failure(
    backend: Backend, allowed: bool | None
) -> None:
    own, ann = verdicts_of(backend), Caller(allowed=allowed)
    assert not any(await asyncio.gather(*(own.may_see(ann, {ORDERS}, NOW) for _ in range(20))))
    assert ann.areas == [ORDERS]


class Reads:
    """Reads of the log, before one of which an event comes."""

    def __init__(self, backend: Backend, log: Log, changed_before: int) -> None:
        self.count = 0
        self._backend = backend
        self._log = log
        self._changed_before = changed_before

    def ask(self, reached: Position, take: Callable[[LogEnd | None], None]) -> None:
        self.count += 1
        if self.count == self._changed_before:
            self._log.add(RowEffects(tables=(TABLE,)))
        self._backend.log_end_reads.ask(reached, take)


@pytest.mark.parametrize("changed_before", [1, 2, 3])
async def test_it_does_not_count_for_an_answer_of_before_an_event(
    backend: Backend, log: Log, changed_before: int
) -> None:
    reads, ann = Reads(backend, log, changed_before), Caller()
    own = MetastoreVerdicts(cast(LogEndReads, reads), 60.0)
    for _ in range(2):
        assert not await own.may_see(ann, {ORDERS}, Position(0, FIRST))
    assert await own.may_see(ann, {ORDERS}, Position(0, FIRST + 1))
    assert await own.may_see(ann, {OTHER}, Position(0, FIRST))


async def test_a_call_that_waited_looks_at_the_log_once_more(backend: Backend, log: Log) -> None:
    reads, ann = Reads(backend, log, 4), Caller()
    own = MetastoreVerdicts(cast(LogEndReads, reads), 60.0)
    verdicts = await asyncio.gather(*(own.may_see(ann, {ORDERS}, NOW) for _ in range(2)))
    assert verdicts == [False, False]
    assert ann.areas == [ORDERS]
    assert reads.count == 5


@pytest.mark.parametrize(
    ("effects", "reads"),
    [
        (RowEffects(tables=(TABLE,)), 2),
        (EVERYTHING, 2),
        (RowEffects(others=(Target(TargetKind.DATABASE, TABLE.database.table("")),)), 2),
        (RowEffects(tables=(NEIGHBOUR,)), 1),
        (RowEffects(), 1),
    ],
)
async def test_it_counts_until_an_event_touches_the_object(
    backend: Backend, log: Log, effects: RowEffects, reads: int
) -> None:
    own, ann = verdicts_of(backend), Caller()
    assert await own.may_see(ann, {ORDERS}, NOW)
    log.add(effects)
    ann.allowed = False
    assert await own.may_see(ann, {ORDERS}, NOW) == (reads == 1)
    assert len(ann.areas) == reads


async def test_it_does_not_count_if_an_event_touches_the_object_meanwhile(
    backend: Backend, log: Log
) -> None:
    own, ann = verdicts_of(backend), Caller()
    ann.meanwhile = lambda: log.add(RowEffects(tables=(TABLE,)))
    assert not await own.may_see(ann, {ORDERS}, NOW)
    ann.meanwhile = lambda: log.add(RowEffects(tables=(NEIGHBOUR,)))
    assert await own.may_see(ann, {ORDERS}, NOW)
    assert len(ann.areas) == 2


async def test_it_counts_for_a_limited_time(backend: Backend) -> None:
    own, ann = verdicts_of(backend, valid_s=0.05), Caller()
    assert await own.may_see(ann, {ORDERS}, NOW)
    await asyncio.sleep(0.06)
    assert await own.may_see(ann, {ORDERS}, NOW)
    assert len(ann.areas) == 2


async def test_no_answer_is_a_no_that_is_not_remembered(backend: Backend, log: Log) -> None:
    own, ann = verdicts_of(backend), Caller(allowed=None)
    assert not await own.may_see(ann, {ORDERS}, NOW)
    ann.allowed = True
    log.database.log, shown = None, log.database.log
    assert not await own.may_see(ann, {ORDERS}, NOW)
    log.database.log = shown
    assert await own.may_see(ann, {ORDERS}, NOW)
    assert len(ann.areas) == 2


async def test_another_history_of_the_database_ends_it(backend: Backend) -> None:
    own, ann = verdicts_of(backend), Caller()
    assert await own.may_see(ann, {ORDERS, OTHER}, NOW)
    for _ in range(2):
        assert await own.may_see(ann, {ORDERS}, Position(1, FIRST))
    assert len(ann.areas) == 3
    ann.allowed = False
    assert not await own.may_see(ann, {ORDERS, OTHER}, Position(1, FIRST))
    assert len(ann.areas) == 4


async def test_it_is_not_asked_for_by_a_log_of_another_history(
    backend: Backend, log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    logs = [LogEnd(epoch, FIRST, []) for epoch in (1, 0, 0)]

    async def after_now(_: Position) -> LogEnd | None:
        return logs.pop(0)

    monkeypatch.setattr(log.database, "after_now", after_now)
    own, ann = verdicts_of(backend), Caller()
    assert not await own.may_see(ann, {ORDERS}, Position(1, FIRST))
    assert not ann.areas


async def test_lists_are_never_allowed_and_nothing_is_asked_for_them(backend: Backend) -> None:
    own, ann = verdicts_of(backend), Caller()
    for area in (Area("hive"), Area("hive", "sales", is_list=True)):
        assert not await own.may_see(ann, {area, ORDERS}, NOW)
    assert not ann.areas


async def test_few_objects_are_asked_for_at_a_time(
    backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verdicts, "ASKED_MAX", 1)
    own, ann = verdicts_of(backend), Caller()
    assert not await own.may_see(ann, {ORDERS, OTHER}, NOW)
    assert not ann.areas
    assert await own.may_see(ann, {ORDERS}, NOW)
    assert await own.may_see(ann, {ORDERS, OTHER}, NOW)


async def test_few_are_remembered(backend: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verdicts, "REMEMBERED_MAX", 1)
    own, ann = verdicts_of(backend), Caller()
    for area in (ORDERS, OTHER, ORDERS):
        assert await own.may_see(ann, {area}, NOW)
    assert len(ann.areas) == 3
