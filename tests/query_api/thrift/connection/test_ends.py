"""What becomes of a connection that ends, or whose client goes, in the middle of something."""

import asyncio
from time import monotonic

import pytest
import structlog.testing

from hive.errors import RefusedLoginError
from query_api.in_flight import TOO_MANY_BYTES
from query_api.thrift.connection.connection import CALLS_IN_A_ROW, Connection
from query_api.thrift.connection.state import ENDING, HOLDING, IDLE, IN_CALL, NEGOTIATING
from query_api.thrift.sasl.mechanism import Accepted, Challenge
from query_api.thrift.sasl.negotiation import Status, frame
from query_api.thrift.settings import ThriftSettings
from tests.query_api.thrift.connection.scripted_calls import connected
from tests.query_api.thrift.structs import message

CALL = message("a", b"\0")
LATER_S = 1_000.0


def in_call() -> Connection:
    """A connection with a call under way."""
    connection, calls, _, _ = connected()
    calls.at_once = False
    connection.data_received(CALL)
    assert connection._state is IN_CALL
    return connection


async def test_a_client_that_is_gone_gets_nothing_and_holds_nothing() -> None:
    connection, calls, transport, budget = connected()
    calls.at_once = False
    connection.data_received(CALL)
    connection.connection_lost(None)
    connection.write(b"reply")
    connection.done()
    connection.restart_cached_call(CALL)
    connection.count_held(100)
    assert (transport.written, budget.bytes, len(calls.begun)) == ([], 0, 1)


async def test_nothing_is_begun_once_a_connection_ends() -> None:
    connection, calls, transport, budget = connected()
    calls.at_once = False
    connection.data_received(CALL)
    connection.end("limit", "too much", reply=b"why")
    assert (connection._state, transport.written) == (ENDING, [b"why"])
    begun = []

    async def work() -> None:
        begun.append(1)

    connection.run(work())
    connection.data_received(CALL)
    await asyncio.sleep(0)
    assert not begun
    assert (len(calls.begun), budget.bytes) == (1, len(CALL))


async def test_many_calls_in_a_row_leave_a_turn_in_which_the_client_may_go() -> None:
    connection, calls, _, _ = connected()
    connection.data_received(CALL * (CALLS_IN_A_ROW + 1))
    connection.connection_lost(None)
    await asyncio.sleep(0)
    assert len(calls.begun) == CALLS_IN_A_ROW


def test_a_client_that_takes_no_last_reply_is_left() -> None:
    connection, _, transport, _ = connected()
    connection.data_received(CALL)
    connection.end("limit", "too much", reply=b"why")
    connection.check(monotonic())
    assert not transport.is_aborted
    connection.check(monotonic() + LATER_S)
    assert transport.is_aborted
    assert connection.ended == "limit"


async def test_a_last_reply_that_is_too_much_for_all_clients_is_given_up() -> None:
    connection, _, transport, budget = connected(bytes_max=1_000_000)
    connection.data_received(CALL)
    transport.buffered = 2_000_000
    connection.end("limit", "too much", reply=b"x" * 2_000_000)
    assert not transport.is_aborted
    await asyncio.sleep(0)
    assert transport.is_aborted
    assert budget.bytes == 0


async def test_a_client_may_be_gone_before_it_is_ended_for_its_bytes() -> None:
    connection, _, transport, _ = connected(bytes_max=1_000)
    connection.data_received(message("a", b"\x0b\0\1\0\0\x40\0" + b"x" * 2_000))
    connection.connection_lost(None)
    await asyncio.sleep(0)
    assert (transport.written, transport.is_aborted, connection.ended) == ([], False, None)


@pytest.mark.parametrize("is_whole", [False, True])
async def test_a_client_with_some_of_a_reply_gets_no_error_behind_it(is_whole: bool) -> None:
    connection, calls, transport, _ = connected(bytes_max=1_000)
    calls.at_once = False
    connection.data_received(CALL)
    connection.write(b"a part")
    connection.count_held(2_000)
    if is_whole:
        calls.end()
    await asyncio.sleep(0)
    assert (transport.written, transport.is_aborted) == ([b"a part"], True)
    assert connection.ended == "limit"


async def test_a_client_that_awaits_a_reply_is_told_why_there_is_none() -> None:
    connection, calls, transport, _ = connected(bytes_max=1_000)
    connection.data_received(CALL)
    connection.write(b"reply")
    calls.at_once = False
    connection.data_received(CALL)
    connection.count_held(2_000)
    await asyncio.sleep(0)
    reply, why = transport.written
    assert reply == b"reply"
    assert TOO_MANY_BYTES.encode() in why
    assert not transport.is_aborted


def test_the_rest_of_a_call_is_awaited_once_the_client_has_taken_its_replies() -> None:
    connection, _, transport, _ = connected(ThriftSettings(message_timeout_s=60))
    connection.data_received(CALL + CALL[:5])
    connection.pause_writing()
    assert connection._state is HOLDING
    connection.resume_writing()
    assert connection._state is IDLE
    connection.check(monotonic())
    assert transport.is_open
    connection.check(monotonic() + LATER_S)
    assert (transport.is_open, connection.ended) == (False, "slow")


class Exchange:
    """Answers a response when it is told to."""

    def __init__(self) -> None:
        self.outcome: asyncio.Future[Accepted] = asyncio.get_running_loop().create_future()
        self.is_cancelled = False

    def begin(self) -> "Exchange":
        return self

    async def answer(self, _: bytes) -> Challenge | Accepted:
        try:
            return await self.outcome
        except asyncio.CancelledError:
            self.is_cancelled = True
            raise


async def test_a_client_that_speaks_before_its_login_is_answered_is_ended() -> None:
    exchange = Exchange()
    connection, _, transport, _ = connected(ThriftSettings(mechanisms={"PLAIN": exchange}))
    connection.data_received(frame(Status.START, b"PLAIN") + frame(Status.COMPLETE, b"x"))
    await asyncio.sleep(0)
    connection.data_received(b"more")
    await asyncio.sleep(0)
    assert (connection.ended, exchange.is_cancelled) == ("sasl", True)
    (said,) = transport.written
    assert b"before its last response was answered" in said


@pytest.mark.parametrize("is_refused", [False, True])
async def test_a_login_that_ends_after_its_connection_is_told_to_nobody(is_refused: bool) -> None:
    exchange = Exchange()
    connection, _, transport, _ = connected(ThriftSettings(mechanisms={"PLAIN": exchange}))
    connection.data_received(frame(Status.START, b"PLAIN") + frame(Status.COMPLETE, b"x"))
    await asyncio.sleep(0)
    assert connection._state is NEGOTIATING
    connection.finish("closing", "the server is shutting down")
    if is_refused:
        exchange.outcome.set_exception(RefusedLoginError("no"))
    else:
        exchange.outcome.set_result(Accepted("ann"))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert transport.written == []
    assert (connection._state, connection.ended) == (ENDING, "closing")


async def test_an_unexpected_fault_of_a_call_is_logged_and_ends_the_connection() -> None:
    connection = in_call()

    async def breaks() -> None:
        raise ZeroDivisionError("by nothing")

    with structlog.testing.capture_logs() as logs:
        connection.run(breaks())
        await asyncio.sleep(0)
        await asyncio.sleep(0)
    assert [(entry["event"], entry["log_level"]) for entry in logs] == [("a call failed", "error")]
    assert (connection.ended, connection.why) == ("failed", "an unexpected fault: by nothing")
