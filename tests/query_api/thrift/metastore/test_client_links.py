"""The connections that relay calls: bounded for each user, and closed when they rest."""

import asyncio
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from metatide.stack.machine import free_port
from query_api.thrift.metastore import client_links
from query_api.thrift.metastore.upstream import UpstreamSettings
from query_api.thrift.protocol.scanner import Scanner
from tests.query_api.thrift.serving import (
    HOST,
    Client,
    Metastore,
    Reply,
    Running,
    result,
    serving,
    until,
    why,
)
from tests.query_api.thrift.structs import message, text

SLOW = "get_slowly"


class SlowMetastore(Metastore):
    """Replies to some calls only when it is to."""

    def __init__(self) -> None:
        super().__init__()
        self.address = HOST, free_port()
        self.withheld: list[tuple[bytes, asyncio.StreamWriter]] = []

    def release(self) -> None:
        for sequence, writer in self.withheld:
            (number,) = struct.unpack("!i", sequence)
            writer.write(message(SLOW, result("late"), kind=2, sequence=number))
        self.withheld.clear()

    def _reply(self, scanner: Scanner, writer: asyncio.StreamWriter) -> bool:
        if scanner.method != SLOW:
            return super()._reply(scanner, writer)
        self.withheld.append((scanner.sequence, writer))
        return True


@asynccontextmanager
async def limited(
    metastore: SlowMetastore, connections: int = 1, idle_s: float = 300.0
) -> AsyncIterator[Running]:
    upstream = UpstreamSettings(
        (metastore.address,), connections_per_user_max=connections, idle_s=idle_s
    )
    async with serving(metastore, upstream=upstream) as here:
        yield here


async def of_user(here: Running, user: str) -> Client:
    client = await here.connect()
    assert await client.call("set_ugi", text(1, user) + b"\x0f\0\2\x0b\0\0\0\0\0") is not None
    return client


async def called(client: Client) -> Reply:
    reply = await client.call("get_other")
    assert reply is not None
    assert reply.kind == 2
    return reply


async def test_a_users_resting_connection_makes_room_for_another() -> None:
    metastore = SlowMetastore()
    async with limited(metastore) as here:
        first, second = await of_user(here, "ann"), await of_user(here, "ann")
        for client in (first, second, first):
            await called(client)
            assert here.server._hub.links.count == 1
        assert metastore.connections == 3
        assert metastore.heard.count("set_ugi") == 3
        other = await of_user(here, "bob")
        await called(other)
        assert here.server._hub.links.count == 2
        await called(first)
        assert metastore.connections == 4


async def test_a_call_waits_for_one_of_its_user_to_end() -> None:
    metastore = SlowMetastore()
    async with limited(metastore) as here:
        first, second = await of_user(here, "ann"), await of_user(here, "ann")
        first.send(message(SLOW, b"\0"))
        await until(lambda: bool(metastore.withheld))
        waiting = asyncio.create_task(called(second))
        await called(await of_user(here, "bob"))
        assert not waiting.done()
        metastore.release()
        assert await first.reply() is not None
        await waiting


async def test_a_call_of_a_client_that_left_makes_room() -> None:
    metastore = SlowMetastore()
    async with limited(metastore) as here:
        first, second = await of_user(here, "ann"), await of_user(here, "ann")
        first.send(message(SLOW, b"\0"))
        await until(lambda: bool(metastore.withheld))
        waiting = asyncio.create_task(called(second))
        await until(lambda: bool(here.server._hub.links._users["ann"].waiting))
        await first.close()
        await waiting


async def test_a_user_with_too_many_calls_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_links, "WAIT_S", 0.1)
    metastore = SlowMetastore()
    async with limited(metastore, connections=2) as here:
        for _ in range(2):
            (await of_user(here, "ann")).send(message(SLOW, b"\0"))
        await until(lambda: len(metastore.withheld) == 2)
        third = await of_user(here, "ann")
        refused = await third.call("get_other")
        assert "user 'ann' has 2 calls under way" in why(refused)
        metastore.release()
        await called(third)


async def test_a_connection_that_rests_for_long_is_closed_and_nothing_is_left() -> None:
    metastore = SlowMetastore()
    async with limited(metastore, idle_s=0.05) as here:
        links = here.server._hub.links
        busy, resting = await of_user(here, "ann"), await of_user(here, "bob")
        busy.send(message(SLOW, b"\0"))
        await called(resting)
        await until(lambda: list(links._users) == ["ann"])
        assert links.count == 1
        await called(resting)
        metastore.release()
        assert await busy.reply() is not None
        await until(lambda: not links._users)


async def test_failed_attempts_leave_nothing() -> None:
    metastore = SlowMetastore()
    async with limited(metastore) as here:
        client = await of_user(here, "ann")
        await metastore.stop()
        assert "no metastore answers" in why(await client.call("get_other"))
        assert not here.server._hub.links._users
        await metastore.start()
        await called(client)
