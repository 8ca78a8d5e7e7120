"""What a client wrote holds for the answers of other workers, whatever these have of events that
the database has lost."""

from pathlib import Path

import pytest

from query_api.latest.log_end import LogEnd
from query_api.positions import Position
from query_api.reasons import Reason, Source
from query_api.requirement import ANY_AGE_MS
from query_api.thrift.call import Call, CallAnswer
from tests.query_api.http.read_client import EmptyDatabase
from tests.query_api.thrift.serving import Client, Metastore, result, serving, until
from tests.query_api.thrift.two_workers import REACHED, log_of, owners, two

pytestmark = pytest.mark.anyio
OWNERS, METASTORES = result("owner"), result("m:get_table")


async def get_table(client: Client) -> bytes:
    reply = await client.call("get_table")
    assert reply is not None
    return reply.body


async def test_an_owner_with_more_events_than_the_database_does_not_answer(
    workers_secret: Path,
) -> None:
    async with two(workers_secret, ANY_AGE_MS, owners, Metastore()) as (here, _):
        client, other = await here.connect(), await here.connect()
        here.database.log = LogEnd(0, REACHED.event - 1, [])
        await client.call("alter_table")
        assert await get_table(client) == METASTORES
        assert await get_table(other) == OWNERS
        here.database.log = log_of()
        assert await get_table(client) == OWNERS


@pytest.mark.parametrize("has_secret", [False, True])
async def test_an_owner_with_another_row_than_the_database_does_not_answer(
    workers_secret: Path, has_secret: bool
) -> None:
    secret = workers_secret if has_secret else None
    async with two(secret, ANY_AGE_MS, owners, Metastore()) as (here, _):
        client = await here.connect()
        here.database.log = LogEnd(0, REACHED.event, [], marks={REACHED.event: 99})
        await client.call("alter_table")
        assert await get_table(client) == METASTORES
        here.database.log = log_of()
        assert await get_table(client) == OWNERS


async def test_an_owner_of_a_later_epoch_with_fewer_events_does_not_answer() -> None:
    def fewer(_: Call) -> CallAnswer:
        position = Position(1, REACHED.event - 1)
        return CallAnswer(OWNERS, Source.CACHE, Reason.FRESH, position)

    async with two(None, ANY_AGE_MS, fewer, Metastore()) as (here, _):
        client = await here.connect()
        await client.call("alter_table")
        assert await get_table(client) == METASTORES


async def test_a_shard_is_compared_once_after_each_write(
    workers_secret: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads = 0
    after_now = EmptyDatabase.after_now

    async def counted(database: EmptyDatabase, reached: Position) -> LogEnd | None:
        nonlocal reads
        reads += 1
        return await after_now(database, reached)

    monkeypatch.setattr(EmptyDatabase, "after_now", counted)
    async with two(workers_secret, None, owners, Metastore()) as (here, _):
        client = await here.connect()
        for _ in range(2):
            await client.call("alter_table")
            before = reads
            for _ in range(3):
                assert await get_table(client) == OWNERS
            assert reads - before <= 2, "one for the write's position, and one for the owner"


async def test_what_was_confirmed_before_a_write_is_asked_for_again(workers_secret: Path) -> None:
    async with two(workers_secret, ANY_AGE_MS, owners, Metastore()) as (here, owner):
        client, other = await here.connect(), await here.connect()
        await get_table(other)
        here.server._hub.recent.within(ANY_AGE_MS)
        await until(lambda: bool(here.server._hub.recent.within(ANY_AGE_MS)))
        calls = len(owner.methods.calls)
        assert await get_table(other) == OWNERS
        assert len(owner.methods.calls) == calls, "another client may have what is cached"
        await client.call("alter_table")
        assert await get_table(client) == OWNERS
        assert len(owner.methods.calls) == calls + 1


async def test_a_write_is_dated_again_before_answers_of_a_later_epoch() -> None:
    positions: list[Position | None] = []

    def cached(call: Call) -> CallAnswer:
        positions.append(call.min_position)
        return CallAnswer(
            result("c"), Source.CACHE, Reason.FRESH, Position(here.source.epoch or 0, 9)
        )

    async with serving(Metastore(), get_table=cached) as here:
        client = await here.connect()
        here.database.log = LogEnd(0, 7, [])
        await client.call("alter_table")
        assert await get_table(client) == result("c")
        here.source.epoch = 1
        here.database.log = LogEnd(0, 8, [])
        assert await get_table(client) == METASTORES
        assert await get_table(client) == result("c")
        assert positions == [Position(0, 7), Position(0, 7), Position(1, 8)]
