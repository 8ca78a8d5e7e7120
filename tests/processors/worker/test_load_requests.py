"""When a worker asks for a load again."""

import asyncio
from typing import cast

import pytest

from hive.errors import ColdShardError
from processors.fold import Fold, Signal
from processors.worker import load_requests
from processors.worker.load_requests import (
    AGAIN_FIRST_S,
    AGAIN_MAX_S,
    AT_ONCE_MAX,
    STALLED_S,
    TICK_S,
    LoadRequests,
)
from processors.worker.metrics import Metrics
from state.records import (
    AnyRecord,
    Change,
    LoadBegin,
    LoadEnd,
    LoadRows,
    Reset,
    Rows,
    Scope,
    ScopeKind,
    SetLists,
)
from state.records.actions import CreateTable, Undecodable
from state.records.signals import LoadRequest, PauseOrder
from state.store import MemoryStore, StorePosition, StoreSnapshot
from state.topic import Topic
from tests.processors.worker.created_table import CREATED, IMAGE, SCOPE, TABLE

FAR = 1 << 61


class Asking:
    """A shard, what it asks for, and a clock."""

    def __init__(self, topic: Topic) -> None:
        self.store = MemoryStore()
        self.metrics = Metrics()
        self.now_s = 1_000.0
        self._requests = LoadRequests(
            topic,
            lambda _: cast("StoreSnapshot", self.store.snapshot()),
            self.metrics,
            lambda: self.now_s,
        )

    def fold(self, *records: AnyRecord) -> None:
        txn = self.store.transaction()
        fold = Fold(txn)
        for record in records:
            fold.apply(record)
        self._requests.ask(0, fold.epoch, fold.flush())
        offset = self.store.position.offset + len(records)
        self.store.commit(txn, StorePosition(fold.epoch, fold.applied, offset))

    def load(self, lo: int) -> None:
        """A load as of an event."""
        self.fold(
            LoadBegin(0, f"load-{self.now_s}", SCOPE),
            LoadRows(0, f"load-{self.now_s}", SCOPE, lo, 0, Rows(tables=(IMAGE,))),
            LoadEnd(0, f"load-{self.now_s}", SCOPE, lo, lo, 1),
        )

    def read(self) -> None:
        """A reader misses the table."""
        self._requests.ask_for_reader(0, LoadRequest(0, SCOPE, FAR))

    def miss(self, number: int) -> None:
        """A reader misses another table."""
        scope = Scope(ScopeKind.TABLE, TABLE._replace(table=f"t{number}"))
        self._requests.ask_for_reader(0, LoadRequest(0, scope, FAR))

    def drop(self) -> None:
        """The fold asks for a table that has gone by then."""
        gone = Scope(ScopeKind.TABLE, TABLE._replace(table="gone"))
        self._requests.ask(0, 0, [Signal(gone, 1)])

    async def order(self) -> None:
        await self._requests.order(PauseOrder(0, 1, paused=True))

    async def run(self) -> None:
        await self._requests.run()

    async def is_tick(self) -> bool:
        return await self._requests._is_tick()

    def sent_before_tick(self) -> int:
        """How many requests are sent that needn't wait for a tick."""
        before = self._count
        self._requests._send_fresh()
        return self._count - before

    def sent(self, wait_s: float = 0) -> int:
        """How many requests are sent at the end of this time."""
        self.now_s += wait_s
        before = self._count
        self._requests._send_due()
        return self._count - before

    @property
    def waiting(self) -> int:
        return self._requests.waiting

    @property
    def oldest_age_s(self) -> float:
        return self._requests.oldest_age_s

    @property
    def _count(self) -> int:
        return int(self.metrics.registry.get_sample_value("metatide_load_requests_total") or 0)


@pytest.fixture
def asking(kafka_broker: str) -> Asking:
    asking = Asking(Topic(kafka_broker, "asking", 1))
    asking.fold(CREATED)
    return asking


def test_loads_that_cannot_warm_a_table_are_asked_for_less_and_less(asking: Asking) -> None:
    asking.fold(Change(0, FAR, FAR + 1))
    assert asking.sent() == 1
    again_s = AGAIN_FIRST_S
    for _ in range(10):
        # As soon as the load has ended, the fold misses it again.
        asking.load(1)
        assert asking.sent(again_s / 2) == 0
        assert asking.sent(again_s / 2) == 1
        again_s = min(2 * again_s, AGAIN_MAX_S)
    assert again_s == AGAIN_MAX_S


def test_readers_of_such_a_table_do_not_ask_more_often_than_at_first(asking: Asking) -> None:
    asking.fold(Change(0, FAR, FAR + 1))
    sent = asking.sent()
    for _ in range(1_000):
        asking.load(1)
        asking.read()
        sent += asking.sent(0.5)
    assert 10 < sent <= 500 / AGAIN_FIRST_S + 1


def test_readers_of_an_image_ask_for_loads_less_and_less(asking: Asking) -> None:
    """It shows no load before a newer one takes its place."""
    sent = 0
    for _ in range(3_600):
        asking.miss(1)
        sent += asking.sent(1)
    assert 6 < sent < 12
    asking.fold(Change(0, 1, 2))
    asking.miss(1)
    assert asking.sent(AGAIN_FIRST_S) == 1


async def test_its_task_rests_until_something_is_asked_for(asking: Asking) -> None:
    turn = asyncio.create_task(asking.is_tick())
    done, _ = await asyncio.wait([turn], timeout=3 * TICK_S)
    assert not done
    asking.read()
    assert not await turn
    assert asking.waiting == 1
    assert await asking.is_tick()


async def test_the_first_request_for_something_waits_for_no_tick(asking: Asking) -> None:
    asking.fold(Change(0, 7, 8))
    assert not await asking.is_tick()
    assert asking.sent_before_tick() == 1
    assert await asking.is_tick()
    # A second reason follows so soon that others may do so, too.
    asking.fold(Change(0, 9, 10))
    assert await asking.is_tick()
    assert [asking.sent_before_tick(), asking.sent(), asking.sent_before_tick()] == [0, 1, 0]


async def test_its_task_rests_while_nothing_is_due(asking: Asking) -> None:
    asking.fold(LoadBegin(0, "long", SCOPE))
    asking.read()
    assert not await asking.is_tick()
    assert asking.sent_before_tick() == 0
    assert await asking.is_tick()
    assert (asking.sent(), asking.waiting) == (0, 1)
    turn = asyncio.create_task(asking.is_tick())
    done, _ = await asyncio.wait([turn], timeout=3 * TICK_S)
    assert not done
    asking.fold(Reset(1, 3))
    asking.fold(Change(1, 3, 4, (CreateTable(IMAGE),)), Change(1, 4, 5, (Undecodable(TABLE),)))
    async with asyncio.timeout(AGAIN_FIRST_S / 2):
        assert await turn
    assert asking.sent() == 1


async def test_its_task_wakes_when_a_request_is_due(asking: Asking) -> None:
    asking.fold(LoadBegin(0, "long", SCOPE))
    asking.read()
    assert not await asking.is_tick()
    asking.sent_before_tick()
    assert await asking.is_tick()
    asking.sent(AGAIN_FIRST_S - 2 * TICK_S)
    async with asyncio.timeout(AGAIN_FIRST_S / 2):
        assert await asking.is_tick()


async def test_its_task_wakes_for_an_order(asking: Asking) -> None:
    """Nobody else polls for its acknowledgement."""
    running = asyncio.create_task(asking.run())
    async with asyncio.timeout(30):
        for _ in range(2):
            await asking.order()
    running.cancel()
    await asyncio.wait([running])


async def test_many_first_requests_wait_for_ticks(asking: Asking) -> None:
    for number in range(3 * AT_ONCE_MAX):
        asking.miss(number)
    assert not await asking.is_tick()
    assert asking.sent_before_tick() == AT_ONCE_MAX
    asking.miss(3 * AT_ONCE_MAX)
    assert await asking.is_tick()
    assert [asking.sent_before_tick(), asking.sent(), asking.sent()] == [
        0,
        AT_ONCE_MAX,
        AT_ONCE_MAX,
    ]
    assert asking.sent() == 1


async def test_requests_that_became_needless_at_once_leave_room_for_others(
    asking: Asking,
) -> None:
    for _ in range(AT_ONCE_MAX):
        asking.drop()
        assert not await asking.is_tick()
        assert asking.sent_before_tick() == 0
    assert asking.waiting == 0
    turn = asyncio.create_task(asking.is_tick())
    await asyncio.sleep(0)
    asking.miss(1)
    async with asyncio.timeout(30):
        assert await turn
    assert asking.sent() == 1


def test_a_new_reason_does_not_wait(asking: Asking) -> None:
    asking.fold(Change(0, 7, 8))
    assert [asking.sent(), asking.sent()] == [1, 0]
    asking.fold(Change(0, 9, 10))
    assert [asking.sent(), asking.sent()] == [1, 0]
    asking.fold(Reset(1, 3))
    asking.fold(Change(1, 3, 4, (CreateTable(IMAGE),)), Change(1, 4, 5, (Undecodable(TABLE),)))
    assert [asking.sent(), asking.sent()] == [1, 0]


def test_a_request_is_as_old_as_its_last_reason(asking: Asking) -> None:
    assert asking.oldest_age_s == 0
    asking.fold(Change(0, 7, 8))
    asking.now_s += 10
    asking.miss(1)
    asking.now_s += 5
    assert asking.oldest_age_s == 15
    asking.fold(Change(0, 9, 10))
    assert asking.oldest_age_s == 5


def test_after_a_reset_a_table_is_asked_for_when_it_is_read(asking: Asking) -> None:
    """Idle tables don't stand before those that somebody waits for."""
    asking.fold(Reset(1, 3))
    assert (asking.waiting, asking.sent()) == (0, 0)
    asking.read()
    assert (asking.waiting, asking.sent()) == (1, 1)


def test_a_table_becomes_warm_once_its_cause_has_gone(asking: Asking) -> None:
    asking.fold(Change(0, 100, 101))
    for _ in range(8):
        asking.load(1)
        asking.sent(AGAIN_MAX_S)
    asking.load(1)
    assert asking.sent(AGAIN_MAX_S) == 1
    asking.load(101)
    assert asking.sent(AGAIN_MAX_S) == 0
    assert asking.waiting == 0


def test_a_table_that_the_lists_leave_out_is_asked_for_no_more(asking: Asking) -> None:
    asking.miss(1)
    assert asking.sent() == 1
    asking.fold(SetLists(0, 1, (), (TABLE._replace(table="t1").in_catalog,)))
    assert asking.sent(AGAIN_FIRST_S) == 0
    assert asking.waiting == 0


def test_a_load_whose_connector_was_killed_is_asked_for_again(asking: Asking) -> None:
    """Nothing says that its End won't come."""
    asking.fold(LoadBegin(0, "killed", SCOPE))
    asking.read()
    assert asking.sent() == 0
    looks = [asking.sent(STALLED_S / 4) for _ in range(30)]
    assert 1 <= sum(looks) <= 30 / 4
    assert not any(looks[:3])
    asking.load(1)
    assert (asking.sent(AGAIN_MAX_S), asking.waiting) == (0, 0)


def test_a_load_that_goes_on_is_waited_for(asking: Asking) -> None:
    asking.fold(LoadBegin(0, "long", SCOPE))
    asking.read()
    for number in range(40):
        asking.fold(LoadRows(0, "long", SCOPE, 2, number, Rows()))
        assert asking.sent(STALLED_S / 4) == 0


class DamagedSnapshot:
    """A snapshot of a store with a bad block."""

    def get(self, _: bytes) -> bytes:
        raise ColdShardError("a block is bad")


def test_a_store_that_cannot_be_read_concerns_its_shard_alone(kafka_broker: str) -> None:
    sound, metrics, now_s = MemoryStore(), Metrics(), [1_000.0]
    views = {0: DamagedSnapshot(), 1: sound.snapshot()}
    requests = LoadRequests(
        Topic(kafka_broker, "asking", 2),
        lambda shard: cast("StoreSnapshot", views[shard]),
        metrics,
        lambda: now_s[0],
    )

    def sent() -> float | None:
        requests._send_due()
        return metrics.registry.get_sample_value("metatide_load_requests_total")

    for shard in views:
        requests.ask_for_reader(shard, LoadRequest(0, SCOPE, FAR))
    assert sent() == 1, "of the sound one"
    assert requests.waiting == 2
    views[0] = sound.snapshot()
    now_s[0] += AGAIN_FIRST_S
    assert sent() == 3, "of both"


async def test_its_task_sends_at_once_and_at_ticks(
    asking: Asking, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(load_requests, "MAKE_AGAIN_S", 0)
    made = iter([False, True])
    monkeypatch.setattr(asking._requests._producer, "make_topic", lambda: next(made))
    running = asyncio.create_task(asking.run())
    async with asyncio.timeout(30):
        for sent, event in ((1, 7), (2, 9)):
            asking.fold(Change(0, event, event + 1))
            while asking._count < sent:
                await asyncio.sleep(0.01)
    running.cancel()
    await asyncio.wait([running])


def test_few_requests_wait(asking: Asking, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(load_requests, "WAITING_MAX", 2)
    for number in range(3):
        asking.miss(number)
    assert asking.waiting == 2
