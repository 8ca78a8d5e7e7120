"""By whom a call is answered, and in which order clients get their replies."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from itertools import islice
from typing import Any

import pytest
import structlog.testing

from hive.errors import ClosedStoreError, InputError
from query_api.latest.log_end import LogEnd
from query_api.positions import Position
from query_api.reasons import Reason
from query_api.targets import Target, TargetKind
from query_api.thrift import dispatch, reply_cache
from query_api.thrift.call import Call, CallAnswer, Relay, Substitute
from query_api.thrift.connection.connection import PUT_OFF_BYTES_MAX
from query_api.thrift.metastore.client_identity import SET_UGI
from query_api.thrift.settings import ThriftSettings
from state.records.actions import CreateTable
from tests.query_api.shards import ORDERS, change, moment, table_image
from tests.query_api.thrift.methods.wire import arguments
from tests.query_api.thrift.serving import (
    Client,
    Metastore,
    answer,
    result,
    serving,
    until,
)
from tests.query_api.thrift.structs import message, text


def cached(call: Call) -> CallAnswer:
    return answer("c:" + call.method)


async def cached_later(call: Call) -> CallAnswer:
    await asyncio.sleep(0)
    return answer("later")


def missed(call: Call) -> Relay:
    return Relay(Reason.COLD)


async def body(client: Client, method: str, arguments: bytes = b"\0") -> bytes:
    reply = await client.call(method, arguments)
    assert reply is not None
    assert (reply.method, reply.kind) == (method, 2)
    return reply.body


@pytest.mark.parametrize("method", ["heartbeat", "get_table", SET_UGI])
async def test_a_metastore_gets_no_message_that_would_have_a_reply_nobody_awaits(
    method: str,
) -> None:
    async with serving(Metastore(), get_table=cached) as here:
        client = await here.connect()
        client.send(message(method, b"\0", kind=4))
        reply = await client.reply()
        assert reply is not None
        assert (reply.method, reply.kind) == (method, 3)
        assert b"not a message of the type ONEWAY" in reply.body
        assert await client.reply() is None
        assert here.metastores[0].connections == 0
        assert 'refused_total{reason="protocol"} 1.0' in here.metrics()


@pytest.mark.parametrize("kind", [b"\1", b"\4"])
async def test_a_goodbye_closes_the_connection_and_is_not_relayed(kind: bytes) -> None:
    goodbye = b"\x80\1\0" + kind + b"\0\0\0\x08shutdown\0\0\0\2\0"
    async with serving(Metastore(), get_cold=missed) as here:
        client = await here.connect()
        with structlog.testing.capture_logs() as entries:
            client.send(message("get_cold", b"\0") + goodbye)
            reply = await client.reply()
            assert reply is not None
            assert reply.body == result("m:get_cold")
            assert await client.reply() is None
        assert not entries
        assert here.metastores[0].heard == ["get_cold"]
        assert "refused_total{" not in here.metrics()


async def test_what_the_cache_knows_is_answered_here_and_all_else_is_relayed_as_it_is() -> None:
    async with serving(
        Metastore(), get_table=cached, get_later=cached_later, get_cold=missed
    ) as here:
        client = await here.connect()
        assert await body(client, "get_table") == result("c:get_table")
        assert await body(client, "get_later") == result("later")
        (metastore,) = here.metastores
        assert metastore.connections == 0
        assert await body(client, "get_cold") == result("m:get_cold")
        assert await body(client, "what_nobody_knows") == result("m:what_nobody_knows")
        assert metastore.heard == ["get_cold", "what_nobody_knows"]
        assert metastore.connections == 1
        page = here.metrics()
    for line in (
        'answers_total{method="get_table",reason="fresh",source="cache"} 1.0',
        'relayed_total{method="get_cold",reason="cold"} 1.0',
        'relayed_total{method="what_nobody_knows",reason="not_cached"} 1.0',
        'seconds_count{method="get_cold",source="metastore"} 1.0',
        "metatide_thrift_connections 1.0",
        'upstream_connections{kind="client"} 1.0',
        'upstream_connections{kind="impersonated"} 0.0',
    ):
        assert line in page


async def test_replies_come_in_the_order_of_the_calls_with_their_sequence() -> None:
    methods = ["get_later", "get_table", "get_cold", "other", "get_table"] * 30
    async with serving(
        Metastore(), get_table=cached, get_later=cached_later, get_cold=missed
    ) as here:
        client = await here.connect()
        client.send(
            b"".join(
                message(method, b"\0", sequence=number, old=number % 3 == 0)
                for number, method in enumerate(methods)
            )
        )
        for number, method in enumerate(methods):
            reply = await client.reply()
            assert reply is not None
            assert (reply.method, reply.sequence) == (method, number)


async def test_of_a_client_that_sends_far_ahead_only_so_much_is_read() -> None:
    gate = asyncio.Event()

    async def waits(call: Call) -> CallAnswer:
        await gate.wait()
        return answer("late")

    async with serving(get_late=waits, get_table=cached) as here:
        client = await here.connect()
        filler = text(1, "x" * 1000) + b"\0"
        client.send(message("get_late", b"\0", sequence=0))
        for number in range(1, 3001):
            client.send(message("get_table", filler, sequence=number))
        budget = here.server._budget
        await until(lambda: budget.bytes > PUT_OFF_BYTES_MAX)
        assert await body(await here.connect(), "get_table") == result("c:get_table")
        assert budget.bytes < 1_000_000, "of three million"
        gate.set()
        for number in range(3001):
            reply = await client.reply()
            assert reply is not None
            assert reply.sequence == number
        assert budget.bytes == 0


async def test_a_client_that_sends_frames_gets_frames() -> None:
    async with serving(Metastore(), get_table=cached) as here:
        client = await here.connect(is_framed=True)
        assert await body(client, "get_table") == result("c:get_table")
        assert await body(client, "other") == result("m:other")


async def test_a_failure_of_any_kind_is_a_miss() -> None:
    def fails(call: Call) -> Any:
        raise InputError("no")

    def breaks(call: Call) -> Any:
        raise ZeroDivisionError

    async def breaks_later(call: Call) -> Any:
        raise ZeroDivisionError

    with structlog.testing.capture_logs() as logs:
        async with serving(Metastore(), get_a=fails, get_b=breaks, get_c=breaks_later) as here:
            client = await here.connect()
            for method in ("get_a", "get_b", "get_c"):
                assert await body(client, method) == result(f"m:{method}")
                assert f'{{method="{method}",reason="failed"}} 1.0' in here.metrics()
    levels = [one["log_level"] for one in logs if "answer" in one["event"]]
    assert levels == ["info", "error", "error"]


def big() -> Iterator[bytes]:
    yield b"\x0b\0\0" + (1000 * 30_000).to_bytes(4, "big")
    for _ in range(1000):
        yield b"x" * 30_000
    yield b"\0"


async def big_later() -> AsyncIterator[bytes]:
    for chunk in big():
        yield chunk


@pytest.mark.parametrize("chunks", [big, big_later])
async def test_a_large_answer_waits_for_a_client_that_takes_its_time(chunks: Any) -> None:
    made = 0

    def counted() -> Iterator[bytes]:
        nonlocal made
        for chunk in big():
            made += 1
            yield chunk

    async with serving(
        get_table=lambda call: answer(counted() if chunks is big else chunks()),
        get_other=cached,
    ) as here:
        client = await here.connect()
        client.send(message("get_table", b"\0") + message("get_other", b"\0"))
        await until(lambda: bool(here.methods.calls))
        other = await here.connect()
        assert await body(other, "get_other") == result("c:get_other")
        assert made < 900, "nothing is made that nobody takes"
        reply = await client.reply()
        assert reply is not None
        assert len(reply.body) == 30_000_008
        assert await client.reply() is not None


async def test_an_answer_that_breaks_off_ends_the_connection() -> None:
    def torn() -> Iterator[bytes]:
        yield b"\x0b\0\0"
        raise InputError("torn")

    async with serving(get_table=lambda call: answer(torn()), get_other=cached) as here:
        client = await here.connect()
        assert await client.call("get_table") is None
        assert await body(await here.connect(), "get_other")


@pytest.mark.parametrize("chunk_count", [0, 1000])
async def test_an_answer_from_a_store_that_is_closed_is_no_fault_of_the_worker(
    chunk_count: int,
) -> None:
    def torn() -> Iterator[bytes]:
        yield from islice(big(), chunk_count)
        raise ClosedStoreError("the store is closed")

    with structlog.testing.capture_logs() as logs:
        async with serving(get_table=lambda call: answer(torn())) as here:
            assert await (await here.connect()).call("get_table") is None
            assert 'refused_total{reason="failed"} 1.0' in here.metrics()
    assert [(one["log_level"], one["why"]) for one in logs] == [("warning", "the store is closed")]


async def test_what_is_cached_is_answered_without_asking_until_it_changes() -> None:
    def kept(call: Call) -> CallAnswer:
        return answer("kept", moment=moment(here.server._hub.views))

    async with serving(get_table=kept) as here:
        client = await here.connect()
        for number in range(1, 4):
            reply = await client.call("get_table", text(1, "t") + b"\0")
            assert reply is not None
            assert reply.body == result("kept")
            assert reply.sequence == number
        assert len(here.methods.calls) == 1
        await client.call("get_table", text(1, "u") + b"\0")
        assert len(here.methods.calls) == 2
        shard = here.source.shard(0)
        assert shard is not None
        shard.fold([change(1, CreateTable(table_image()))])
        await client.call("get_table", text(1, "t") + b"\0")
        assert len(here.methods.calls) == 3
        assert 'reason="fresh",source="cache"} 5.0' in here.metrics()
        here.server.forget()
        await client.call("get_table", text(1, "t") + b"\0")
        assert len(here.methods.calls) == 4


async def test_what_was_asked_before_all_is_dropped_is_not_cached() -> None:
    gate = asyncio.Event()

    async def kept(call: Call) -> CallAnswer:
        own = answer(f"by rule {len(here.methods.calls)}", moment=moment(here.server._hub.views))
        await gate.wait()
        return own

    async with serving(get_table=kept) as here:
        client = await here.connect()
        client.send(message("get_table", b"\0"))
        await until(lambda: bool(here.methods.calls))
        here.server.forget()
        gate.set()
        reply = await client.reply()
        assert reply is not None
        assert reply.body == result("by rule 1")
        for _ in range(2):
            assert await body(client, "get_table") == result("by rule 2")


async def test_what_is_cached_and_must_be_the_latest_is_compared_with_the_log_each_time() -> None:
    target = Target(TargetKind.TABLE, ORDERS)

    def kept(call: Call) -> CallAnswer:
        return answer("kept", moment=moment(here.server._hub.views), to_confirm=(target,))

    async with serving(get_table=kept) as here:
        here.database.log = LogEnd(0, 0, [])
        client = await here.connect()
        for _ in range(3):
            assert await body(client, "get_table") == result("kept")
        assert len(here.methods.calls) == 1
        # The log has gone on, and nobody knows what it says.
        here.database.log = LogEnd(0, 3, [])
        for calls in (2, 3):
            assert await body(client, "get_table") == result("kept")
            assert len(here.methods.calls) == calls


async def test_what_is_cached_may_be_compared_with_a_log_that_is_recent_enough() -> None:
    target = Target(TargetKind.TABLE, ORDERS)

    def kept(call: Call) -> CallAnswer:
        views = here.server._hub.views
        return answer("kept", moment=moment(views), to_confirm=(target,), max_age_ms=60_000)

    async with serving(Metastore(), get_table=kept) as here:
        here.database.log = LogEnd(0, 0, [])
        client, other = await here.connect(), await here.connect()
        for _ in range(2):
            assert await body(client, "get_table") == result("kept")
        # From now on, nobody can ask the database.
        here.database.log = None
        for _ in range(3):
            assert await body(client, "get_table") == result("kept")
        assert len(here.methods.calls) == 1
        here.database.log = LogEnd(0, 3, [])
        await other.call("alter_table")
        assert await body(client, "get_table") == result("kept")
        assert len(here.methods.calls) == 1
        assert await body(other, "get_table") == result("kept")
        assert [call.min_position for call in here.methods.calls] == [None, Position(0, 3)]


async def test_after_a_write_a_client_reads_at_least_what_it_wrote() -> None:
    async with serving(Metastore(), get_table=cached, get_later=cached_later) as here:
        client, other = await here.connect(), await here.connect()
        await client.call("get_table")
        here.database.log = LogEnd(0, 7, [])
        await client.call("alter_table")
        for method in ("get_later", "get_table"):
            await client.call(method)
        await other.call("get_table")
        assert [one.min_position for one in here.methods.calls] == [
            None,
            Position(0, 7),
            Position(0, 7),
            None,
        ]


@pytest.mark.parametrize("method", ["open_txns", "lock", "unlock"])
async def test_a_call_that_changes_no_answer_is_no_write_to_be_reflected(method: str) -> None:
    """Hive makes such calls before it reads. What they log would have to be folded first."""
    async with serving(Metastore(), get_table=cached) as here:
        client = await here.connect()
        await client.call(method)
        await client.call("get_table")
        assert [call.min_position for call in here.methods.calls] == [None]


async def test_own_writes_that_nobody_can_date_leave_reads_to_the_metastore() -> None:
    async with serving(Metastore(), get_table=cached) as here:
        client = await here.connect()
        here.database.log = None
        await client.call("drop_table")
        assert await body(client, "get_table") == result("m:get_table")
        here.database.log = LogEnd(0, 9, [])
        assert await body(client, "get_table") == result("c:get_table")


async def test_own_writes_of_an_unknown_epoch_leave_reads_to_the_metastore() -> None:
    async with serving(Metastore(), get_table=cached) as here:
        client = await here.connect()
        here.source.epoch = None
        await client.call("drop_table")
        assert await body(client, "get_table") == result("m:get_table")
        here.source.epoch = 0
        assert await body(client, "get_table") == result("c:get_table")


async def test_cached_answers_from_before_an_own_write_are_not_given() -> None:
    def kept(call: Call) -> CallAnswer:
        return answer("kept", event=4, moment=moment(here.server._hub.views))

    async with serving(Metastore(), get_table=kept) as here:
        client, other = await here.connect(), await here.connect()
        for _ in range(2):
            await client.call("get_table")
        await client.call("alter_table")
        for _ in range(2):
            await client.call("get_table")
        assert len(here.methods.calls) == 3
        await other.call("get_table")
        assert len(here.methods.calls) == 3


@pytest.mark.parametrize("relays_reads", [False, True])
async def test_a_method_that_the_metastore_dropped_is_asked_for_by_its_successor(
    relays_reads: bool,
) -> None:
    def translated(data: bytes) -> bytes:
        assert data == result("m:get_table_req")
        return result("translated")

    other = Substitute("get_table_req", text(9, "x") + b"\0", translated)
    settings = ThriftSettings(relay_reads=relays_reads)
    async with serving(
        Metastore(), settings=settings, get_table=lambda _: Relay(Reason.COLD)
    ) as here:
        here.methods.substitutes["get_table"] = other
        client = await here.connect()
        client.send(message("get_table", b"\0", sequence=77))
        reply = await client.reply()
        assert reply is not None
        assert (reply.method, reply.sequence) == ("get_table", 77)
        assert reply.body == result("translated")


async def test_with_relay_reads_the_metastore_answers_all() -> None:
    settings = ThriftSettings(relay_reads=True)
    async with serving(Metastore(), settings=settings, get_table=cached) as here:
        client = await here.connect()
        assert await body(client, "get_table") == result("m:get_table")
        assert 'reason="relay_reads"} 1.0' in here.metrics()
        assert not here.methods.calls


async def test_slow_calls_are_logged() -> None:
    async def slow(call: Call) -> CallAnswer:
        await asyncio.sleep(0.01)
        return answer("slow")

    with structlog.testing.capture_logs() as logs:
        settings = ThriftSettings(slow_ms=5)
        async with serving(settings=settings, get_table=slow) as here:
            client = await here.connect()
            await client.call(SET_UGI, arguments(SET_UGI, "ann", []))
            await client.call("get_table")
    slow_ones = [one for one in logs if one["event"] == "slow call"]
    (only,) = ((one["method"], one["source"], one["user"]) for one in slow_ones)
    assert only == ("get_table", "cache", "ann")


async def test_methods_beyond_a_number_are_counted_as_one() -> None:
    async with serving(Metastore()) as here:
        client = await here.connect()
        for number in range(500):
            await client.call(f"m{number}")
        lines = [one for one in here.metrics().splitlines() if "relayed_total{" in one]
    assert len(lines) == 401
    assert 'metatide_thrift_relayed_total{method="others",reason="not_cached"} 100.0' in lines


async def test_a_read_of_very_many_values_is_the_metastores(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(dispatch, "READ_STEPS_MAX", 4_000)
    async with serving(Metastore(), get_table=cached) as here:
        client = await here.connect()
        for count, says in ((3_000, "c:get_table"), (5_000, "m:get_table")):
            texts = b"\0\0\0\4text" * count
            names = b"\x0f\0\1\x0b" + count.to_bytes(4) + texts + b"\0"
            assert await body(client, "get_table", names) == result(says)
        assert 'reason="too_long"} 1.0' in here.metrics()


async def test_with_relay_reads_nobody_asks_what_a_write_has_reached() -> None:
    reads: list[Position] = []

    async def read(reached: Position) -> None:
        reads.append(reached)

    for relays_reads in (True, False):
        settings = ThriftSettings(relay_reads=relays_reads)
        async with serving(Metastore(), settings=settings, get_table=cached) as here:
            here.database.after_now = read  # type: ignore[method-assign]
            client = await here.connect()
            await client.call("drop_table")
            assert await body(client, "get_table") == result("m:get_table")
        assert bool(reads) is not relays_reads


async def test_of_many_answers_those_are_kept_that_are_asked_for_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(reply_cache, "BYTES_MAX", 2_000)

    def kept(call: Call) -> CallAnswer:
        return answer("x" * 700, moment=moment(here.server._hub.views))

    async with serving(get_table=kept) as here:
        client = await here.connect()
        for number, calls in ((1, 1), (1, 1), (2, 2), (2, 3), (2, 3)):
            await client.call("get_table", text(number, "t") + b"\0")
            assert len(here.methods.calls) == calls
