"""A read waits for its shard about as long as a metastore would take."""

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from query_api.backend import Backend
from query_api.latest.log_end import LogEnd
from query_api.latest.row_effects import RowEffects
from query_api.reads import GetTable
from query_api.requirement import Requirement
from query_api.resolver.answer import Miss, ReadAnswer
from query_api.resolver.metastore_latency import WAIT_S_MAX, WAIT_S_MIN, MetastoreLatency
from tests.query_api.http.read_client import EmptyDatabase
from tests.query_api.shards import (
    ORDERS,
    MemoryShard,
    MemoryShards,
    change,
    load_table,
    table_image,
)


@given(st.lists(st.floats(0, 60)))
def test_it_stays_within_its_bounds(taken_s: list[float]) -> None:
    latency = MetastoreLatency()
    for seconds in taken_s:
        latency.note(seconds)
        assert WAIT_S_MIN <= latency.wait_s <= WAIT_S_MAX + 1e-9


@given(st.lists(st.floats(0, 60), max_size=20), st.floats(WAIT_S_MIN, WAIT_S_MAX))
def test_it_follows_what_metastores_take_now(before_s: list[float], now_s: float) -> None:
    latency = MetastoreLatency()
    assert latency.wait_s == WAIT_S_MIN
    for seconds in before_s:
        latency.note(seconds)
    for _ in range(200):
        latency.note(now_s)
    assert abs(latency.wait_s - now_s) < 0.001


async def test_the_slower_metastores_are_the_longer_a_read_waits_for_its_shard() -> None:
    shard = MemoryShard(*load_table(1, table=table_image(managed=False)), change(1))
    touched = LogEnd(0, 2, [(2, RowEffects(tables=(ORDERS,)))])
    backend = Backend(MemoryShards(shard), EmptyDatabase(touched))
    resolver, read, moves_after_s = backend.resolver, GetTable(ORDERS), 10 * WAIT_S_MIN

    async def move() -> None:
        await asyncio.sleep(moves_after_s)
        await shard.move(change(2))

    assert isinstance(await resolver.cached(read, Requirement()), Miss)
    # A busy machine may wake the reader late, so metastores are slower still.
    resolver.metastore_latency.note(20 * moves_after_s)
    moving = asyncio.create_task(move())
    assert isinstance(await resolver.cached(read, Requirement()), ReadAnswer)
    await moving
    await backend.close()
