"""What goes to metastores: through which connections, and what when one is lost."""

from contextlib import suppress
from typing import Any

import pytest
import structlog.testing

from hive.errors import ThriftError
from query_api.latest.log_end import LogEnd
from query_api.positions import Position
from query_api.reasons import Reason
from query_api.resolver.fallback_latency import WAIT_S_MIN
from query_api.thrift.call import Call, CallAnswer, Relay, Substitute
from query_api.thrift.metastore import relayed_call
from query_api.thrift.metastore.client_identity import REPEATED_BYTES_MAX
from query_api.thrift.metastore.link import Address
from query_api.thrift.metastore.upstream import UpstreamSettings
from query_api.thrift.settings import ThriftSettings
from tests.query_api.shards import moment
from tests.query_api.thrift.serving import (
    HOST,
    Client,
    Metastore,
    answer,
    result,
    serving,
    until,
    why,
)
from tests.query_api.thrift.structs import message, text

UGI = text(1, "ann") + b"\x0f\0\2\x0b\0\0\0\2" + b"\0\0\0\1a" + b"\0\0\0\1b" + b"\0"
EMPTY = b"\0"


def setting(key: str) -> bytes:
    return text(1, key) + text(2, "1") + b"\0"


async def answered_by(client: Client) -> str:
    reply = await client.call("get_other")
    assert reply is not None
    return reply.body[7:-1].decode().partition(":")[0]


@pytest.mark.parametrize(
    ("method", "call"),
    [
        ("set_ugi", text(1, "x" * REPEATED_BYTES_MAX) + b"\0"),
        ("setMetaConf", text(1, "k") + text(2, "x" * REPEATED_BYTES_MAX) + b"\0"),
    ],
)
async def test_what_would_be_kept_for_a_client_is_small(method: str, call: bytes) -> None:
    async with serving(Metastore()) as here:
        (metastore,) = here.metastores
        client = await here.connect()
        assert "at most 65536" in why(await client.call(method, call))
        assert metastore.connections == 0
        await client.close()


async def test_a_connection_to_a_metastore_is_opened_when_needed_and_ends_with_the_client() -> None:
    async with serving(Metastore(), get_table=lambda _: answer("c")) as here:
        (metastore,) = here.metastores
        client = await here.connect()
        reply = await client.call("set_ugi", UGI)
        assert reply is not None
        assert reply.body == b"\x0f\0\0\x0b\0\0\0\3\0\0\0\1a\0\0\0\1b\0\0\0\3ann\0"
        await client.call("get_table")
        assert metastore.connections == 0
        for _ in range(3):
            await client.call("other")
        assert metastore.connections == 1
        assert metastore.heard == ["set_ugi", "other", "other", "other"]
        await client.close()
        await until(lambda: not metastore._writers)


async def test_a_new_connection_hears_what_the_client_said_of_itself() -> None:
    metastore = Metastore()
    metastore.replies["setMetaConf"] = EMPTY
    async with serving(metastore) as here:
        client = await here.connect()
        await client.call("set_ugi", UGI)
        await client.call("setMetaConf", setting("a"))
        await client.call("setMetaConf", setting("b"))
        await client.call("setMetaConf", setting("a"))
        metastore.replies["setMetaConf"] = result("refused")
        await client.call("setMetaConf", setting("c"))
        metastore.replies["setMetaConf"] = EMPTY
        await metastore.stop()
        await metastore.start()
        metastore.heard.clear()
        assert await answered_by(client) == "m"
        assert metastore.heard == ["set_ugi", "setMetaConf", "setMetaConf", "get_other"]


async def test_a_client_that_has_changed_a_setting_of_a_metastore_reads_from_it() -> None:
    def cached(_: Call) -> CallAnswer:
        return answer("kept", event=4, moment=moment(here.server._hub.views))

    metastore = Metastore()
    async with serving(metastore, get_other=cached) as here:
        client, other = await here.connect(), await here.connect()
        for _ in range(3):
            assert await answered_by(client) == "kept"
        metastore.replies["setMetaConf"] = result("refused")
        await client.call("setMetaConf", setting("metastore.partition.order.expr"))
        metastore.replies["setMetaConf"] = EMPTY
        for key in ("metastore.client.socket.timeout", "hive.metastore.client.socket.timeout"):
            await client.call("setMetaConf", setting(key))
            assert await answered_by(client) == "kept"
        await client.call("setMetaConf", setting("metastore.partition.order.expr"))
        for _ in range(3):
            assert await answered_by(client) == "m"
            assert await answered_by(other) == "kept"
        line = 'relayed_total{method="get_other",reason="settings"} 3.0'
        assert line in here.metrics()


async def test_the_cache_is_not_compared_with_a_metastore_of_other_settings() -> None:
    metastore = Metastore()
    metastore.replies["setMetaConf"] = EMPTY
    shadowed = ThriftSettings(shadow=True)
    async with serving(metastore, settings=shadowed, get_other=lambda _: answer("ours")) as here:
        client = await here.connect()
        await client.call("setMetaConf", setting("metastore.try.direct.sql"))
        assert await answered_by(client) == "m"
        assert not here.methods.calls


async def test_clients_go_to_the_metastores_that_answer() -> None:
    async with serving(Metastore("a"), Metastore("b")) as here:
        clients = [await here.connect() for _ in range(40)]
        assert {await answered_by(one) for one in clients} == {"a", "b"}
        first, _ = here.metastores
        await first.stop()
        assert {await answered_by(one) for one in clients} == {"b"}
        await first.start()
        assert {await answered_by(one) for one in clients} == {"b"}, "connections stay"


async def test_a_read_whose_metastore_dies_is_asked_of_another_and_a_write_is_not() -> None:
    dying = Metastore("dying")
    dying.replies |= {"get_other": None, "create_table": None}
    other = Metastore("b")
    async with serving(dying, other) as here:
        for _ in range(10):
            assert await answered_by(await here.connect()) == "b"
        assert dying.heard
        reads = len(dying.heard)

        async def write() -> bool:
            """Whether it was answered, by a metastore of the first choice."""
            here.server._hub.upstreams._failed.clear()
            return await (await here.connect()).call("create_table") is not None

        answered = [await write() for _ in range(20)]
        assert set(answered) == {True, False}
        assert len(dying.heard) - reads == answered.count(False)
        assert other.heard.count("create_table") == answered.count(True)


async def test_where_no_metastore_answers_the_client_is_told_so() -> None:
    async with serving(get_table=lambda _: answer("c")) as here:
        client = await here.connect()
        assert "upstream.url" in why(await client.call("create_table"))
        assert await client.call("get_table") is not None

    gone = UpstreamSettings(((HOST, 1),))
    async with serving(upstream=gone, get_table=lambda _: Relay(Reason.COLD)) as here:
        reason = why(await (await here.connect()).call("get_table"))
        assert "no metastore answers: 127.0.0.1:1" in reason
        assert "cold" in reason


async def test_a_metastore_that_speaks_out_of_turn_is_left() -> None:
    metastore = Metastore()
    metastore.replies["get_odd"] = b"\x63"
    async with serving(metastore, Metastore("b")) as here:
        for _ in range(5):
            client = await here.connect()
            with suppress(AssertionError):
                await client.call("get_odd")
            assert await answered_by(await here.connect()) in ("m", "b")


async def test_a_shard_of_another_worker_is_asked_of_its_owner_once_and_then_of_the_metastore() -> (
    None
):
    floors: list[Position | None] = []
    owner: list[Address | None] = []

    async def owner_of(shard: int) -> Address | None:
        assert shard == 3
        return owner[0]

    def not_ours(call: Call) -> Relay:
        return Relay(Reason.NOT_OWNED, shard=3)

    def ours(call: Call) -> CallAnswer | Relay:
        floors.append(call.min_position)
        if call.arguments != b"\0":
            return Relay(Reason.COLD)
        return answer(iter([result("owner")[:4], result("owner")[4:]]), event=8)

    async with (
        serving(get_table=ours) as other,
        serving(Metastore(), get_table=not_ours, more={"owner_of": owner_of}) as here,
    ):
        owner.append((HOST, other.port))
        client = await here.connect()
        for _ in range(3):
            reply = await client.call("get_table")
            assert reply is not None
            assert reply.body == result("owner")
        here.database.log = LogEnd(0, 8, [])
        await client.call("drop_table")
        reply = await client.call("get_table")
        assert reply is not None
        assert reply.body == result("owner")
        assert floors == [None, None, None, Position(0, 8)]
        reply = await client.call("get_table", text(1, "cold") + b"\0")
        assert reply is not None
        assert reply.body == result("m:get_table")
        assert here.metrics().count('relayed_total{method="get_table",reason="not_owned"}') == 1
        for owner[0] in ((HOST, 1), None, here.metastores[0].address):
            reply = await client.call("get_table")
            assert reply is not None
            assert reply.body == result("m:get_table")
        owner[0] = (HOST, other.port)
        here.database.log = LogEnd(0, 9, [])
        await client.call("drop_table")
        older = await client.call("get_table")
        assert older is not None
        assert floors[-1] == Position(0, 9)
        assert older.body == result("m:get_table")


async def test_two_workers_that_send_each_other_away_end_at_the_metastore() -> None:
    ports: dict[str, int] = {}

    def not_ours(call: Call) -> Relay:
        return Relay(Reason.NOT_OWNED, shard=0)

    async def to_b(_: int) -> Address:
        return HOST, ports["b"]

    async def to_a(_: int) -> Address:
        return HOST, ports["a"]

    async with (
        serving(Metastore("a"), get_table=not_ours, more={"owner_of": to_b}) as a,
        serving(Metastore("b"), get_table=not_ours, more={"owner_of": to_a}) as b,
    ):
        ports.update(a=a.port, b=b.port)
        reply = await (await a.connect()).call("get_table")
        assert reply is not None
        assert reply.body == result("a:get_table")


async def test_set_ugi_goes_to_the_metastore_where_it_cant_be_read_or_comes_late() -> None:
    async with serving(Metastore()) as here:
        (metastore,) = here.metastores
        client = await here.connect()
        for heard, body in enumerate((EMPTY, UGI), 1):
            reply = await client.call("set_ugi", body)
            assert reply is not None
            assert reply.body == result("m:set_ugi")
            assert metastore.heard == ["set_ugi"] * heard


async def test_no_more_of_a_reply_is_read_than_its_client_takes() -> None:
    metastore = Metastore()
    metastore.replies["get_big"] = result("x" * 30_000_000)
    async with serving(metastore) as here:
        client = await here.connect()
        client.send(message("get_big", EMPTY))
        (connection,) = here.server._connections
        relay: Any = connection
        await until(
            lambda: relay._dispatch is not None and relay._dispatch._relay._link is not None
        )
        transport = relay._dispatch._relay._link._transport
        await until(lambda: not transport.is_reading())
        reply = await client.reply()
        assert reply is not None
        assert reply.body == metastore.replies["get_big"]
        assert transport.is_reading()


def unreadable(data: bytes) -> bytes:
    raise ThriftError(f"{len(data)} bytes of something else")


@pytest.mark.parametrize("is_long", [False, True])
async def test_a_reply_that_cant_be_translated_ends_the_connections_of_both_sides(
    monkeypatch: pytest.MonkeyPatch, is_long: bool
) -> None:
    if is_long:
        monkeypatch.setattr(relayed_call, "COPY_BYTES_MAX", 20)
    translated = unreadable if not is_long else bytes
    async with serving(Metastore(), get_table=lambda _: Relay(Reason.COLD)) as here:
        (metastore,) = here.metastores
        here.methods.substitutes["get_table"] = Substitute("get_table_req", EMPTY, translated)
        with structlog.testing.capture_logs() as logs:
            assert await (await here.connect()).call("get_table") is None
            await until(lambda: not metastore._writers)
        why = "longer than 20 bytes" if is_long else "bytes of something else"
        assert why in logs[-1]["why"]
        assert 'refused_total{reason="upstream"} 1.0' in here.metrics()


async def test_an_exception_in_place_of_a_reply_is_passed_on_as_one() -> None:
    metastore = Metastore()
    metastore.kinds["get_table_req"] = 3
    async with serving(metastore, get_table=lambda _: Relay(Reason.COLD)) as here:
        here.methods.substitutes["get_table"] = Substitute("get_table_req", EMPTY, unreadable)
        reply = await (await here.connect()).call("get_table")
        assert reply is not None
        assert (reply.method, reply.kind) == ("get_table", 3)
        assert reply.body == result("m:get_table_req")


async def test_a_shard_without_an_owner_is_the_metastores() -> None:
    async with serving(Metastore(), get_table=lambda _: Relay(Reason.NOT_OWNED, 0)) as here:
        reply = await (await here.connect()).call("get_table")
        assert reply is not None
        assert reply.body == result("m:get_table")


async def test_how_long_metastores_take_for_what_the_cache_lacks_is_noted() -> None:
    metastore = Metastore()
    async with serving(metastore, get_table=lambda _: Relay(Reason.BEHIND)) as here:
        latency = here.server._hub.metastore_latency
        client = await here.connect()
        await client.call("other")
        assert latency.wait_s == WAIT_S_MIN
        metastore.delay_s = 4 * WAIT_S_MIN
        await client.call("get_table")
        assert latency.wait_s >= 2 * WAIT_S_MIN
