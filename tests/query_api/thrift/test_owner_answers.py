"""A worker keeps what another answered, for as long as the log confirms it."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from hive.names import table_name
from query_api.latest.latest_log import LatestLog
from query_api.latest.row_effects import RowEffects
from query_api.owner_moment import OwnerMoment
from query_api.partners import Partners, SecretFile
from query_api.positions import Position
from query_api.reasons import Reason
from query_api.requirement import ANY_AGE_MS
from query_api.targets import Target, TargetKind
from query_api.thrift.call import Call, CallAnswer, Relay
from tests.query_api.http.read_client import EmptyDatabase
from tests.query_api.shards import ORDERS
from tests.query_api.thrift.serving import HOST, Running, answer, result, serving

pytestmark = pytest.mark.anyio
TARGETS = (Target(TargetKind.TABLE, ORDERS),)
OTHER = table_name(None, "sales", "other")
REACHED = Position(0, 4)


def log_of(*tables: Any) -> LatestLog:
    """The log from event 4 on, with an event for each of these tables."""
    rows = [(event, RowEffects(tables=(table,))) for event, table in enumerate(tables, 5)]
    marks = {event: event for event in range(4, 5 + len(tables))}
    return LatestLog(0, 4 + len(tables), rows, marks=marks)


def not_ours(log_age_ms: int | None) -> Callable[[Call], Relay]:
    return lambda _: Relay(Reason.NOT_OWNED, 1, log_age_ms)


def owners(_: Call) -> CallAnswer:
    moment = OwnerMoment(0, TARGETS, REACHED, 4, 0.0)
    return answer("owner", REACHED.event, moment=moment)


@asynccontextmanager
async def two(
    secret: Path | None, log_age_ms: int | None, owned: Callable[[Call], Any] = owners
) -> AsyncIterator[tuple[Running, Running]]:
    """A worker that is asked, and the owner of what is read."""
    address = [HOST, 0]

    async def owner_of(_: int) -> Any:
        return tuple(address)

    def partners() -> Partners:
        return Partners(None if secret is None else SecretFile(secret))

    more = {"partners": partners(), "host": HOST}
    async with (
        serving(log=log_of(), more=more, get_table=owned) as owner,
        serving(
            log=log_of(),
            more={"owner_of": owner_of, "partners": partners()},
            get_table=not_ours(log_age_ms),
        ) as here,
    ):
        here.source.shards.append(None)
        address[1] = owner.port
        yield here, owner


async def never(_: EmptyDatabase, reached: Position) -> LatestLog | None:
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
