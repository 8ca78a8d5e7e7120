"""A connection goes from state to state as the table says, whatever client and calls do."""

import asyncio
import inspect
import re
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from query_api.in_flight import Budget
from query_api.thrift.connection.connection import Connection
from query_api.thrift.connection.state import ENDING, HOLDING, IDLE, IN_CALL, NEW, NEXT, State
from query_api.thrift.protocol.wire import Message
from query_api.thrift.settings import ThriftSettings
from tests.query_api.thrift.structs import message, text


class Transport:
    """Takes everything, and says what it was asked to do."""

    def __init__(self) -> None:
        self.is_reading = True
        self.is_open = True

    def get_extra_info(self, _: str) -> None:
        return None

    def get_write_buffer_size(self) -> int:
        return 0

    def set_write_buffer_limits(self, *, high: int, low: int) -> None:
        pass

    def is_closing(self) -> bool:
        return not self.is_open

    def write(self, _: bytes) -> None:
        pass

    def abort(self) -> None:
        self.is_open = False

    def pause_reading(self) -> None:
        assert self.is_reading
        self.is_reading = False

    def resume_reading(self) -> None:
        assert not self.is_reading
        self.is_reading = True


class Calls:
    """Ends calls at once, or later when it is told to."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.begun: list[bytes] = []
        self.ended = 0
        self.at_once = True
        self.fills = False
        """Whether the next reply is more than the client takes."""
        self.is_closed = False

    def answer_from_cache(self, _: bytes) -> bool:
        return False

    def begin(self, call: Message) -> None:
        assert self.ended == len(self.begun), "one call at a time"
        assert not self.connection.flow.is_blocked
        self.begun.append(call.data)
        if self.fills:
            self.fills = False
            self.connection.pause_writing()
        if self.at_once:
            self.end()

    def end(self) -> None:
        self.ended += 1
        self.connection.done()

    def writable(self, writable: bool) -> None:
        pass

    def close(self) -> None:
        self.is_closed = True


def connected() -> tuple[Connection, Calls, Transport, Budget]:
    budget = Budget(1 << 30)
    connection = Connection(ThriftSettings(), budget)
    transport, calls = Transport(), Calls(connection)
    connection.calls = calls
    connection.connection_made(cast(asyncio.BaseTransport, transport))
    return connection, calls, transport, budget


def test_the_table_in_the_docstring_is_the_one_that_holds() -> None:
    rows = re.findall(r"^\| ([A-Z_]+) \| ([A-Z_]+) \|", inspect.getdoc(State) or "", re.MULTILINE)
    said = {(State[before], State[after]) for before, after in rows}
    assert len(said) == len(rows)
    said |= {(state, ENDING) for state in State if state is not ENDING}
    assert said == {(before, after) for before in State for after in NEXT[before]}


def test_what_the_table_does_not_have_is_an_error() -> None:
    connection, calls, _, _ = connected()
    assert connection._state is NEW
    with pytest.raises(AssertionError):
        connection.hold()
    connection.data_received(message("a", b"\0"))
    assert connection._state is IDLE
    with pytest.raises(AssertionError):
        connection.done()
    connection.pause_writing()
    with pytest.raises(AssertionError):
        connection.hold()
    assert connection._state is HOLDING
    connection.resume_writing()
    calls.at_once = False
    connection.data_received(message("a", b"\0"))
    assert connection._state is IN_CALL
    connection.connection_lost(None)
    calls.end()
    assert connection._state is ENDING


@given(
    sizes=st.lists(st.sampled_from([1, 30, 3000]), min_size=1, max_size=80),
    cuts=st.lists(st.integers(1, 4000), min_size=1, max_size=20),
    steps=st.lists(st.sampled_from(["bytes", "end", "fill", "take", "turn", "later", "soon"])),
)
def test_calls_begin_in_their_order_one_at_a_time(
    sizes: list[int], cuts: list[int], steps: list[str]
) -> None:
    messages = [
        message("a", text(1, "x" * size) + b"\0", sequence=number)
        for number, size in enumerate(sizes)
    ]

    async def test() -> None:
        connection, calls, transport, budget = connected()
        data, sent = b"".join(messages), 0

        async def do(step: str, number: int) -> None:
            nonlocal sent
            flow: Any = connection.flow
            if step == "bytes" and transport.is_reading and sent < len(data):
                size = cuts[number % len(cuts)]
                connection.data_received(data[sent : sent + size])
                sent += size
            elif step == "end" and calls.ended < len(calls.begun):
                calls.end()
            elif step in ("later", "soon"):
                calls.at_once = step == "soon"
            elif step == "turn":
                await asyncio.sleep(0)
            elif step == "fill":
                calls.fills = True
            elif step == "take" and flow.is_blocked:
                connection.resume_writing()

        for number, step in enumerate(steps):
            await do(step, number)
        rounds = 0
        while calls.ended < len(messages):
            assert transport.is_open
            for step in ("take", "end", "bytes", "turn"):
                await do(step, rounds)
            rounds += 1
        assert calls.begun == messages
        assert connection._state is (HOLDING if connection.flow.is_blocked else IDLE)
        assert transport.is_reading
        assert budget.bytes == 0
        connection.connection_lost(None)
        assert calls.is_closed

    asyncio.run(test())
