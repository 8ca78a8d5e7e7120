"""A worker keeps what another answered, for as long as the log confirms it."""

import asyncio
from pathlib import Path

import pytest

from query_api.latest.log_end import LogEnd
from query_api.positions import Position
from query_api.requirement import ANY_AGE_MS
from tests.query_api.http.read_client import EmptyDatabase
from tests.query_api.shards import ORDERS
from tests.query_api.thrift.serving import Running, result
from tests.query_api.thrift.two_workers import OTHER, log_of, two

pytestmark = pytest.mark.anyio


async def never(_: EmptyDatabase, reached: Position) -> LogEnd | None:
    await asyncio.Event().wait()
    raise AssertionError(reached)


async def ask(worker: Running, times: int) -> None:
    client = await worker.connect()
    for _ in range(times):
        reply = await client.call("get_table")
        assert reply is not None
        assert reply.body == result("owner")


@pytest.mark.parametrize("log_age_ms", [0, 100])
async def test_the_owner_is_asked_once(workers_secret: Path, log_age_ms: int) -> None:
    async with two(workers_secret, log_age_ms) as (here, owner):
        await ask(here, 5)
        assert len(owner.methods.calls) == 1
        here.database.log = log_of(OTHER)
        await ask(here, 5)
        assert len(owner.methods.calls) == 1
        assert 'answers_total{method="get_table",reason="fresh",source="cache"} 10' in (
            here.metrics()
        )


async def test_an_event_that_touches_it_asks_the_owner_again(workers_secret: Path) -> None:
    async with two(workers_secret, 0) as (here, owner):
        await ask(here, 2)
        here.database.log = log_of(OTHER, ORDERS)
        await ask(here, 2)
        assert len(owner.methods.calls) == 3, "the owner still tells of a state before the event"


async def test_a_log_that_can_not_be_read_asks_the_owner_again(workers_secret: Path) -> None:
    async with two(workers_secret, 0) as (here, owner):
        await ask(here, 2)
        here.database.log = None
        await ask(here, 2)
        assert len(owner.methods.calls) == 3


async def test_under_any_nothing_waits_for_the_database(
    workers_secret: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(EmptyDatabase, "after_now", never)
    async with two(workers_secret, ANY_AGE_MS) as (here, owner):
        await ask(here, 4)
        assert len(owner.methods.calls) == 4


async def test_what_needs_a_list_is_not_cached(workers_secret: Path) -> None:
    async with two(workers_secret, None) as (here, owner):
        await ask(here, 3)
        assert len(owner.methods.calls) == 3


async def test_what_nobody_proved_is_not_cached() -> None:
    async with two(None, 0) as (here, owner):
        await ask(here, 3)
        assert len(owner.methods.calls) == 3


async def test_what_late_events_may_call_otherwise_is_not_cached(workers_secret: Path) -> None:
    async with two(workers_secret, 0) as (here, owner):
        owner.database.history.former_names.note(ORDERS, (OTHER,), 0)
        await ask(here, 3)
        assert len(owner.methods.calls) == 3


async def test_it_goes_when_the_shard_comes_here(workers_secret: Path) -> None:
    async with two(workers_secret, 0) as (here, owner):
        await ask(here, 2)
        here.source.shards[1] = here.source.shards[0]
        await ask(here, 2)
        assert len(owner.methods.calls) == 3, "the methods of this test never know the shard"
