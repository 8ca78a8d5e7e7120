"""A read waits for its shard about as long as whoever answers otherwise would take."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from query_api.backend import Backend
from query_api.database_answer import DatabaseAnswer
from query_api.latest.log_end import LogEnd
from query_api.latest.row_effects import RowEffects
from query_api.reads import GetTable
from query_api.reads.read import Read
from query_api.reasons import Source
from query_api.requirement import Requirement
from query_api.resolver import fallback_latency
from query_api.resolver.answer import Miss, ReadAnswer
from query_api.resolver.fallback_latency import (
    REMEMBERED_S,
    WAIT_S_MAX,
    WAIT_S_MIN,
    FallbackLatency,
)
from query_api.resolver.resolver import Resolver
from tests.query_api.http.read_client import EmptyDatabase
from tests.query_api.shards import (
    ORDERS,
    MemoryShard,
    MemoryShards,
    change,
    load_table,
    table_image,
)

READ: Final = GetTable(ORDERS)


@given(st.lists(st.floats(0, 60)))
def test_it_stays_within_its_bounds(taken_s: list[float]) -> None:
    latency = FallbackLatency()
    for seconds in taken_s:
        latency.note(seconds)
        assert WAIT_S_MIN <= latency.wait_s <= WAIT_S_MAX + 1e-9


@given(st.lists(st.floats(0, 60), max_size=20), st.floats(WAIT_S_MIN, WAIT_S_MAX))
def test_it_follows_what_answers_take_now(before_s: list[float], now_s: float) -> None:
    latency = FallbackLatency()
    assert latency.wait_s == WAIT_S_MIN
    for seconds in before_s:
        latency.note(seconds)
    for _ in range(200):
        latency.note(now_s)
    assert abs(latency.wait_s - now_s) < 0.001


def test_what_answers_took_long_ago_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = 100.0
    monkeypatch.setattr(fallback_latency, "monotonic", lambda: now_s)
    latency = FallbackLatency()
    latency.note(WAIT_S_MAX)
    now_s += 0.9 * REMEMBERED_S
    assert latency.wait_s == WAIT_S_MAX
    now_s += 0.2 * REMEMBERED_S
    assert latency.wait_s == WAIT_S_MIN
    latency.note(2 * WAIT_S_MIN)
    assert latency.wait_s == pytest.approx(2 * WAIT_S_MIN)


class BusyDatabase(EmptyDatabase):
    """A database that takes longer than a shard that lags."""

    async def answer(self, read: Read[Any]) -> DatabaseAnswer[Any]:
        await asyncio.sleep(WAIT_S_MAX)
        return await super().answer(read)


@pytest.fixture
def shard() -> MemoryShard:
    """A shard that lacks an event, which touches the table."""
    return MemoryShard(*load_table(1, table=table_image(managed=False)), change(1))


@pytest.fixture
async def database() -> BusyDatabase:
    return BusyDatabase(LogEnd(0, 2, [(2, RowEffects(tables=(ORDERS,)))]))


@pytest.fixture
async def resolver(shard: MemoryShard, database: BusyDatabase) -> AsyncIterator[Resolver]:
    backend = Backend(MemoryShards(shard), database)
    yield backend.resolver
    await backend.close()


async def move(shard: MemoryShard) -> None:
    # A busy machine may wake the reader late, so whoever answers otherwise is slower still.
    await asyncio.sleep(4 * WAIT_S_MIN)
    await shard.move(change(2))


async def test_the_slower_metastores_are_the_longer_a_read_waits_for_its_shard(
    shard: MemoryShard, resolver: Resolver
) -> None:
    assert isinstance(await resolver.cached(READ, Requirement()), Miss)
    resolver.metastore_latency.note(WAIT_S_MAX)
    moving = asyncio.create_task(move(shard))
    assert isinstance(await resolver.cached(READ, Requirement()), ReadAnswer)
    await moving


async def test_a_busy_database_is_spared_what_the_shard_answers_before_it(
    shard: MemoryShard, database: BusyDatabase, resolver: Resolver
) -> None:
    assert (await resolver.answer(READ, Requirement())).source is Source.DATABASE
    moving = asyncio.create_task(move(shard))
    assert (await resolver.answer(READ, Requirement())).source is Source.CACHE
    assert len(database.reads) == 1
    await moving
