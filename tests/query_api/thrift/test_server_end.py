"""What clients of Thrift get that are in a call when a server is to end."""

import asyncio
from time import monotonic
from typing import Any

import pytest

from query_api.latest.log_end import LogEnd
from query_api.positions import Position
from query_api.targets import Target, TargetKind
from query_api.thrift import server
from query_api.thrift.call import Call, CallAnswer
from tests.query_api.shards import ORDERS, moment
from tests.query_api.thrift.http_transport.clients import call, serving_http
from tests.query_api.thrift.serving import Metastore, Running, answer, result, serving, until
from tests.query_api.thrift.structs import message


async def slow(_: Call) -> CallAnswer:
    await asyncio.sleep(0.5)
    return answer("late")


async def test_calls_under_way_are_answered_and_idle_clients_leave_at_once() -> None:
    metastore = Metastore()
    metastore.delay_s = 0.5
    async with serving(metastore, get_slow=slow, get_table=lambda _: answer("c")) as here:
        reading, writing, idle = [await here.connect() for _ in range(3)]
        assert await idle.call("get_table") is not None
        read = asyncio.create_task(reading.call("get_slow"))
        write = asyncio.create_task(writing.call("create_table"))
        await until(lambda: bool(here.methods.calls[1:] and metastore.calls))
        ends = asyncio.create_task(here.server.close())
        assert await idle.reply() is None
        assert not read.done()
        assert not write.done()
        for task, value in ((read, "late"), (write, "m:create_table")):
            reply = await task
            assert reply is not None
            assert reply.body == result(value)
        for client in (reading, writing):
            assert await client.reply() is None
        await ends


async def test_a_call_that_takes_too_long_ends_with_the_server(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(server, "FINISH_S_MAX", 0.1)
    metastore = Metastore()
    metastore.delay_s = 2
    async with serving(metastore) as here:
        client = await here.connect()
        write = asyncio.create_task(client.call("create_table"))
        await until(lambda: bool(metastore.calls))
        metastore.replies["create_table"] = None
        await here.server.close()
        assert metastore.heard == []
        assert await write is None


async def test_a_client_that_takes_nothing_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "FINISH_S_MAX", 0.1)
    async with serving(get_table=lambda _: answer("x" * 36_000_000)) as here:
        client = await here.connect()
        client.send(message("get_table", b"\0"))
        await until(lambda: bool(here.methods.calls))
        await here.server.close()
        assert "metatide_thrift_connections 0.0" in here.metrics()


async def test_a_client_that_comes_while_the_server_ends_leaves_with_it() -> None:
    async with serving(get_slow=slow, get_table=lambda _: answer("c")) as here:
        reading = await here.connect()
        read = asyncio.create_task(reading.call("get_slow"))
        # Accepted by the system, but not yet seen here.
        late = await here.connect()
        await until(lambda: bool(here.methods.calls))
        began = monotonic()
        await here.server.close()
        assert monotonic() - began < 5
        assert await read is not None
        assert await late.reply() is None


class LateDatabase:
    """Tells of the log when it is let."""

    def __init__(self, here: Running) -> None:
        self.may = asyncio.Event()
        self.asked_count = 0
        self.log = here.database.log
        here.database.after_now = self.after_now  # type: ignore[method-assign]

    async def after_now(self, reached: Position) -> LogEnd | None:
        self.asked_count += 1
        await self.may.wait()
        return self.log


@pytest.mark.parametrize("is_cached", [True, False])
async def test_a_cached_answer_that_waits_for_the_database_is_given_or_made_again(
    is_cached: bool,
) -> None:
    target = Target(TargetKind.TABLE, ORDERS)

    def kept(_: Call) -> CallAnswer:
        return answer("kept", moment=moment(here.server._hub.views), to_confirm=(target,))

    async with serving(get_table=kept) as here:
        client = await here.connect()
        here.database.log = LogEnd(0, 0, [])
        for _ in range(2):
            assert await client.call("get_table") is not None
        database = LateDatabase(here)
        waiting = asyncio.create_task(client.call("get_table"))
        await until(lambda: database.asked_count > 0)
        ends = asyncio.create_task(here.server.close())
        await asyncio.sleep(0)
        if not is_cached:
            database.log = None
        database.may.set()
        reply = await waiting
        assert reply is not None
        assert reply.body == result("kept")
        assert len(here.methods.calls) == (1 if is_cached else 2)
        await ends


async def test_over_http_too() -> None:
    methods: dict[str, Any] = {"get_slow": slow, "get_table": lambda _: answer("c")}
    async with serving_http(**methods) as here:
        reading, idle = await here.connect(), await here.connect()
        assert (await idle.ask(call("get_table"))).status == 200
        read = asyncio.create_task(reading.ask(call("get_slow")))
        await until(lambda: len(here.running.methods.calls) > 1)
        ends = asyncio.create_task(here.running.server.close())
        said = await read
        assert (said.status, said.keeps_open) == (200, False)
        assert await idle.reader.read() == await reading.reader.read() == b""
        await ends
