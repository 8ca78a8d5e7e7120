"""A connection goes from state to state as the table says, whatever client and calls do."""

import asyncio
import inspect
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from query_api.thrift.connection.state import ENDING, HOLDING, IDLE, IN_CALL, NEW, NEXT, State
from tests.query_api.thrift.connection.scripted_calls import connected
from tests.query_api.thrift.structs import message, text


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
        connection.begin_cached_call()
    connection.data_received(message("a", b"\0"))
    assert connection._state is IDLE
    with pytest.raises(AssertionError):
        connection.done()
    connection.pause_writing()
    with pytest.raises(AssertionError):
        connection.begin_cached_call()
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
