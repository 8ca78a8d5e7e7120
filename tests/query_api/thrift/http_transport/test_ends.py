"""Connections of HTTP that end, or whose clients go, in the middle of something."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from time import monotonic
from typing import Any, NamedTuple

import pytest
from structlog.testing import capture_logs

from query_api.thrift import server
from query_api.thrift.call import Call, CallAnswer
from query_api.thrift.http_transport.connection import DISCARDED_BYTES_MAX
from query_api.thrift.http_transport.scheme import Proof
from query_api.thrift.http_transport.settings import HttpSettings
from query_api.thrift.settings import ThriftSettings
from tests.query_api.thrift.http_transport.clients import (
    HEAD,
    HttpClient,
    HttpRunning,
    basic,
    call,
    serving_http,
)
from tests.query_api.thrift.serving import answer, result, until
from tests.query_api.thrift.structs import message

LATER_S = 1_000.0
CHUNK = b"x" * 30_000
CHUNKS = 1_000


def connection_of(here: HttpRunning) -> Any:
    """The server's side of the only client."""
    (connection,) = here.running.server._connections
    return connection


async def test_a_large_answer_waits_for_a_client_that_takes_its_time() -> None:
    made = 0

    def big(_: Call) -> CallAnswer:
        def chunks() -> Iterator[bytes]:
            nonlocal made
            yield b"\x0b\0\0" + (CHUNKS * len(CHUNK)).to_bytes(4)
            for _ in range(CHUNKS):
                made += 1
                yield CHUNK
            yield b"\0"

        return answer(chunks())

    async with serving_http(get_big=big, get_table=lambda _: answer("c")) as here:
        client = await here.connect()
        client.writer.write(call("get_big"))
        await until(lambda: bool(here.running.server._connections) and made > 0)
        connection = connection_of(here)
        await until(lambda: connection.session.flow.is_blocked)
        assert made < CHUNKS, "nothing is made that nobody takes"
        assert len((await client.answer()).body) > CHUNKS * len(CHUNK)
        assert (await client.ask(call("get_table"))).status == 200


async def test_a_client_that_takes_no_last_response_is_left() -> None:
    async with serving_http(get_large=lambda _: answer("x" * 36_000_000)) as here:
        client = await here.connect()
        client.writer.write(call("get_large", headers={"connection": "close"}))
        await until(lambda: bool(here.running.methods.calls))
        connection = connection_of(here)
        connection.data_received(call("get_large"))
        connection.check(monotonic())
        assert here.running.server._connections
        connection.check(monotonic() + LATER_S)
        await until(lambda: not here.running.server._connections)
        assert len(here.running.methods.calls) == 1


async def test_a_client_that_takes_nothing_is_left_when_the_server_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(server, "FINISH_S_MAX", 0.1)
    async with serving_http(get_large=lambda _: answer("x" * 36_000_000)) as here:
        client = await here.connect()
        client.writer.write(call("get_large"))
        await until(lambda: bool(here.running.methods.calls))
        await here.running.server.close()
        assert "metatide_thrift_connections 0.0" in here.metrics()


class LateCall(NamedTuple):
    """A call that is under way until it may be answered."""

    here: HttpRunning
    client: HttpClient
    connection: Any
    may_be_answered: asyncio.Event


@asynccontextmanager
async def late_call() -> AsyncIterator[LateCall]:
    may_be_answered = asyncio.Event()

    async def late(_: Call) -> CallAnswer:
        await may_be_answered.wait()
        return answer("late")

    async with serving_http(get_late=late) as here:
        client = await here.connect()
        client.writer.write(call("get_late"))
        await until(lambda: len(here.running.methods.calls) > 0)
        yield LateCall(here, client, connection_of(here), may_be_answered)


async def test_a_request_that_comes_during_a_call_ends_the_connection_after_it() -> None:
    async with late_call() as (_, client, connection, may_be_answered):
        client.writer.write(call("get_late"))
        await until(lambda: connection._is_pipelined)
        may_be_answered.set()
        said = await client.answer()
        assert said.body == message("get_late", result("late"), kind=2)
        assert await client.is_ended()


@pytest.mark.parametrize("is_begun", [False, True])
@pytest.mark.parametrize("is_refused", [False, True])
async def test_a_reply_that_comes_after_the_end_is_dropped(
    is_refused: bool, is_begun: bool
) -> None:
    async with late_call() as (_, client, connection, _):
        if is_begun:
            connection.session.write(b"the first piece")
        connection.end("limit", "too many bytes")
        if is_refused:
            connection.session.end("failed", "later", reply=b"later")
            assert (connection.ended, connection.why) == ("limit", "too many bytes")
        else:
            connection.session.write(b"later")
        said = await client.answer()
        assert (said.status, said.body) == (503, b"too many bytes\n")
        assert await client.is_ended()


async def test_an_end_within_a_reply_leaves_no_whole_response() -> None:
    async with late_call() as (here, client, connection, _):
        for piece in (b"first", b"second"):
            connection.session.write(piece)
        connection.session.end("limit", "too many bytes", reply=b"why")
        with pytest.raises((AssertionError, ConnectionResetError)):
            await client.answer()
        await until(lambda: 'refused_total{reason="limit"} 1.0' in here.metrics())


async def test_what_follows_a_body_that_is_too_long_to_be_discarded_is_not_read() -> None:
    size = DISCARDED_BYTES_MAX + 1
    chunk = b"%x\r\n%b\r\n" % (size, bytes(size))
    head = HEAD.replace("POST /", "POST /else").encode() + b"transfer-encoding: chunked\r\n\r\n"
    async with serving_http() as here:
        client = await here.connect()
        await until(lambda: bool(here.running.server._connections))
        connection_of(here).data_received(head + chunk + b"no chunk\r\n")
        assert (await client.answer()).status == 404
        assert await client.is_ended()
        await until(lambda: 'refused_total{reason="protocol"} 1.0' in here.metrics())


async def test_a_connection_without_a_call_has_nothing_to_pause() -> None:
    async with serving_http(get_table=lambda _: answer("c")) as here:
        client = await here.connect()
        await until(lambda: bool(here.running.server._connections))
        connection = connection_of(here)
        connection.pause_writing()
        connection.resume_writing()
        assert (await client.ask(call("get_table"))).status == 200


class Checks:
    """A scheme that fails, or never ends."""

    kind = "test"

    def __init__(self, *, fails: bool) -> None:
        self._fails = fails
        self.is_cancelled = False
        self.begun = False

    def challenge(self, why: str) -> str:
        return f"Basic {why}"

    async def check(self, credentials: str) -> Proof:
        self.begun = True
        if self._fails:
            raise ZeroDivisionError(len(credentials))
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.is_cancelled = True
            raise
        raise AssertionError


def checked_by(checks: Checks) -> ThriftSettings:
    return ThriftSettings(http=HttpSettings(schemes={"basic": checks}))


async def test_a_login_that_fails_for_no_fault_of_the_client_is_logged() -> None:
    settings = checked_by(Checks(fails=True))
    async with serving_http(settings=settings, get_table=lambda _: answer("c")) as here:
        client = await here.connect()
        with capture_logs() as logs:
            said = await client.ask(call("get_table", headers=basic("ann", "pass")))
            assert await client.is_ended()
        assert (said.status, said.body) == (500, b"an unexpected fault\n")
        entry = logs[0]
        assert (entry["event"], entry["log_level"]) == ("a login failed", "error")
        assert not here.running.methods.calls


async def test_a_login_ends_with_its_client() -> None:
    checks = Checks(fails=False)
    async with serving_http(settings=checked_by(checks)) as here:
        client = await here.connect()
        client.writer.write(call("get_table", headers=basic("ann", "pass")))
        await until(lambda: checks.begun)
        # Nobody reads meanwhile, so nobody hears that the client has gone.
        connection_of(here).end("closing", "the server is shutting down")
        await until(lambda: checks.is_cancelled)
