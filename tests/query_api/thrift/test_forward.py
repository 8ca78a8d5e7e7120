"""What workers take from each other, and what they leave to metastores."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import structlog.testing

from query_api.reasons import Reason
from query_api.targets import Target, TargetKind
from query_api.thrift import thrift_peers
from query_api.thrift.call import Call, Relay
from query_api.thrift.forward import FORWARDED, forwarded_answer
from query_api.thrift.metastore.link import Address
from query_api.thrift.replies import Replies
from query_api.thrift.settings import ThriftSettings
from tests.query_api.shards import ORDERS
from tests.query_api.thrift.forwarded import answer_of, question, question_of
from tests.query_api.thrift.serving import (
    HOST,
    Client,
    Metastore,
    Running,
    answer,
    result,
    serving,
    until,
)
from tests.query_api.thrift.structs import message

OWNERS = [result("owner"), "cache", "fresh", [0, 5]]
REFUSED = b"\0"


@asynccontextmanager
async def owned(*, is_known: bool = True) -> AsyncIterator[tuple[Running, Metastore]]:
    """A worker that owns no shard, and the server that answers in place of their owner; with
    `is_known`, calls after the first need no task.
    """
    owner = Metastore("owner")
    owner.replies[FORWARDED] = answer_of(OWNERS)

    async def owner_of(_: int) -> Address:
        return owner.address

    def known_owner_of(_: int) -> Address | None:
        return owner.address if is_known else None

    def not_ours(_: Call) -> Relay:
        return Relay(Reason.NOT_OWNED, 1)

    more = {"owner_of": owner_of, "known_owner_of": known_owner_of}
    await owner.start()
    try:
        async with serving(Metastore(), more=more, get_table=not_ours) as here:
            yield here, owner
    finally:
        await owner.stop()


async def said(client: Client) -> str:
    reply = await client.call("get_table")
    assert reply is not None
    return reply.body[7:-1].decode()


@pytest.mark.parametrize(
    ("values", "is_taken"),
    [
        (OWNERS, True),
        ([*OWNERS, 0, None, None, "of a later version"], True),
        (OWNERS[:1], False),
        ([OWNERS[0], "hearsay", *OWNERS[2:]], False),
        ([*OWNERS, 0, None, b"none"], False),
    ],
)
@pytest.mark.parametrize("is_first", [True, False])
async def test_an_answer_that_cant_be_read_is_the_metastores(
    values: list[Any], is_taken: bool, is_first: bool
) -> None:
    async with owned() as (here, owner):
        client = await here.connect()
        if not is_first:
            assert await said(client) == "owner"
        owner.replies[FORWARDED] = answer_of(values)
        with structlog.testing.capture_logs() as logs:
            assert await said(client) == ("owner" if is_taken else "m:get_table")
        errors = [entry["error"] for entry in logs if "owner does not answer" in entry["event"]]
        assert len(errors) == (0 if is_taken else 1)
        assert all("its answer can't be read" in error for error in errors)


@pytest.mark.parametrize("age_ms_max", [None, 0, 100])
async def test_the_owner_learns_what_is_required_here(age_ms_max: int | None) -> None:
    address: list[Address] = []

    async def owner_of(_: int) -> Address:
        return address[0]

    def not_ours(_: Call) -> Relay:
        return Relay(Reason.NOT_OWNED, 1, 0, age_ms_max)

    async with (
        serving(get_table=lambda _: answer("owner")) as owner,
        serving(more={"owner_of": owner_of}, get_table=not_ours) as here,
    ):
        address.append((HOST, owner.port))
        assert await said(await here.connect()) == "owner"
        assert [call.age_ms_max for call in owner.methods.calls] == [age_ms_max]


@pytest.mark.parametrize("is_known", [True, False])
async def test_an_owner_that_was_restarted_is_asked_over_a_new_connection(
    monkeypatch: pytest.MonkeyPatch, is_known: bool
) -> None:
    monkeypatch.setattr(thrift_peers, "LINKS_MAX", 1)
    async with owned(is_known=is_known) as (here, owner):
        client = await here.connect()
        for _ in range(2):
            assert await said(client) == "owner"
        await owner.stop()
        await owner.start()
        assert await said(client) == "owner"
        assert owner.connections == 2


@pytest.mark.parametrize("is_known", [True, False])
async def test_an_owner_has_so_many_calls_at_once(
    monkeypatch: pytest.MonkeyPatch, is_known: bool
) -> None:
    monkeypatch.setattr(thrift_peers, "LINKS_MAX", 1)
    async with owned(is_known=is_known) as (here, owner):
        first, second = await here.connect(), await here.connect()
        assert await said(first) == "owner"
        owner.delay_s = 0.05
        waiting = asyncio.create_task(said(first))
        await until(lambda: len(owner.calls) == 2)
        assert await said(second) == "m:get_table"
        assert await waiting == "owner"
        assert await said(second) == "owner"


@pytest.mark.parametrize("is_known", [True, False])
async def test_an_owner_has_so_much_time(monkeypatch: pytest.MonkeyPatch, is_known: bool) -> None:
    monkeypatch.setattr(thrift_peers, "LINKS_MAX", 1)
    async with owned(is_known=is_known) as (here, owner):
        client = await here.connect()
        assert await said(client) == "owner"
        monkeypatch.setattr(thrift_peers, "TIMEOUT_S", 0.05)
        owner.delay_s = 0.5
        with structlog.testing.capture_logs() as logs:
            assert await said(client) == "m:get_table"
        assert [entry["event"] for entry in logs] == ["a shard's owner does not answer"]
        owner.delay_s = 0.0
        assert await said(client) == "owner"


@pytest.mark.parametrize("is_known", [True, False])
async def test_a_client_that_leaves_takes_its_call_with_it(
    monkeypatch: pytest.MonkeyPatch, is_known: bool
) -> None:
    monkeypatch.setattr(thrift_peers, "LINKS_MAX", 1)
    async with owned(is_known=is_known) as (here, owner):
        leaving, client = await here.connect(), await here.connect()
        assert await said(leaving) == "owner"
        owner.delay_s = 0.5
        leaving.send(message("get_table", b"\0"))
        await until(lambda: len(owner.calls) == 2)
        await leaving.close()
        await until(lambda: "metatide_thrift_connections 1.0" in here.metrics())
        owner.delay_s = 0.0
        assert await said(client) == "owner"
        assert owner.connections == 2


async def test_an_owner_that_hangs_up_has_no_answer() -> None:
    async with owned() as (here, owner):
        client = await here.connect()
        assert await said(client) == "owner"
        owner.delay_s = 0.2
        waiting = asyncio.create_task(said(client))
        await until(lambda: len(owner.calls) == 2)
        await owner.stop()
        assert await waiting == "m:get_table"
        await owner.start()


async def test_a_fault_after_the_owners_answer_ends_the_connection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with owned() as (here, owner):
        client = await here.connect()
        assert await said(client) == "owner"
        with monkeypatch.context() as patch, structlog.testing.capture_logs() as logs:
            patch.setattr(Replies, "send", lambda *_: 1 // 0)
            assert await client.call("get_table") is None
        assert [entry["event"] for entry in logs][:1] == ["a call failed"]
        assert await said(await here.connect()) == "owner"
        assert owner.connections == 1


@pytest.mark.parametrize(
    ("values", "relays_reads"),
    [
        ([], False),
        (["get_table"], False),
        (["get_table", b"\x0b", None, None], False),
        (["get_table", b"\0\0", None, None], False),
        (["create_table", b"\0", None, None], False),
        (["get_table", b"\0", None, None], True),
    ],
)
async def test_a_forwarded_call_that_is_none_of_ours_is_refused(
    values: list[Any], relays_reads: bool
) -> None:
    settings = ThriftSettings(relay_reads=relays_reads)
    async with serving(settings=settings, get_table=lambda _: answer("ours")) as here:
        client = await here.connect()
        reply = await client.call(FORWARDED, question_of(values))
        assert reply is not None
        assert (reply.kind, reply.body) == (2, REFUSED)
        assert not here.methods.calls
        reply = await client.call(FORWARDED, question("get_table", b"\0"))
        assert reply is not None
        assert (result("ours") in reply.body) is not relays_reads


@pytest.mark.parametrize(("count", "are_listed"), [(2, True), (2_000, False)])
def test_what_an_answer_tells_of_is_told_where_it_isnt_too_much(
    count: int, are_listed: bool
) -> None:
    targets = tuple(
        Target(TargetKind.TABLE, ORDERS.database.table(f"t{number}")) for number in range(count)
    )
    forwarded = forwarded_answer(answer("a", targets=targets), (), is_guarded=True)
    assert forwarded.targets == (targets if are_listed else None)
