"""A negotiation reads the frames of a client, however its bytes are split, and no others."""

import inspect
import re
from collections.abc import Iterator
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive.errors import ThriftError
from query_api.thrift.sasl.negotiation import (
    MECHANISM_BYTES_MAX,
    NEXT,
    RESPONSE_BYTES_MAX,
    ROUNDS_MAX,
    Negotiation,
    State,
    Status,
    frame,
)

GSSAPI = frame(Status.START, b"GSSAPI")
HEAD_BYTES = 5


def pieces(data: bytes, cuts: list[int]) -> Iterator[bytes]:
    edges = sorted({0, len(data), *(cut % (len(data) + 1) for cut in cuts)})
    for start, end in pairwise(edges):
        yield data[start:end]


def test_the_table_in_the_docstring_is_the_one_that_holds() -> None:
    rows = re.findall(r"^\| ([A-Z]+) \| ([A-Z]+) \|", inspect.getdoc(State) or "", re.MULTILINE)
    said = {(State[before], State[after]) for before, after in rows}
    assert len(said) == len(rows)
    said |= {(state, State.FAILED) for state in State if state not in (State.DONE, State.FAILED)}
    assert said == {(before, after) for before in State for after in NEXT[before]}


@given(
    responses=st.lists(st.binary(max_size=300), min_size=1, max_size=ROUNDS_MAX),
    are_last=st.lists(st.booleans(), min_size=ROUNDS_MAX, max_size=ROUNDS_MAX),
    cuts=st.lists(st.integers(0, 10_000), max_size=20),
)
def test_responses_arrive_whole_wherever_their_bytes_are_split(
    responses: list[bytes], are_last: list[bool], cuts: list[int]
) -> None:
    negotiation = Negotiation({"GSSAPI", "PLAIN"})
    for number, (response, is_last) in enumerate(zip(responses, are_last, strict=False)):
        data = frame(Status.COMPLETE if is_last else Status.OK, response)
        fed = [*map(negotiation.feed, pieces((b"" if number else GSSAPI) + data, cuts))]
        assert fed[:-1] == [None] * (len(fed) - 1)
        assert fed[-1] == response
        assert negotiation.state is State.CHECK
        assert negotiation.held_bytes == 0
        if number < len(responses) - 1:
            assert negotiation.challenge(b"c") == frame(Status.OK, b"c")
    assert negotiation.mechanism == "GSSAPI"
    assert negotiation.complete(b"") == frame(Status.COMPLETE, b"")
    assert negotiation.state is State.DONE


@given(st.lists(st.binary(min_size=1, max_size=2000), max_size=30), st.booleans())
def test_any_bytes_are_refused_or_awaited_and_few_are_held(data: list[bytes], starts: bool) -> None:
    negotiation, why = Negotiation({"GSSAPI"}), ""
    for piece in [GSSAPI, *data] if starts else data:
        try:
            response = negotiation.feed(piece)
        except ThriftError as error:
            why = str(error)
            break
        assert negotiation.held_bytes < RESPONSE_BYTES_MAX + HEAD_BYTES
        if response is not None:
            negotiation.challenge(b"")
    if why:
        assert negotiation.refuse(why) == frame(Status.BAD, why.encode())
        assert negotiation.state is State.FAILED
        assert negotiation.held_bytes == 0
        with pytest.raises(ThriftError):
            negotiation.feed(GSSAPI)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"\x80\x01\0\1", "expected SASL's START, got a frame with status 128"),
        (frame(Status.OK, b""), "expected SASL's START"),
        (frame(Status.START, b"PLAIN"), "unsupported SASL mechanism 'PLAIN': offered are GSSAPI"),
        (frame(Status.START, b"GSSAPI\0"), "unsupported SASL mechanism"),
        (frame(Status.START, b"x" * (MECHANISM_BYTES_MAX + 1)), "at most 64"),
        (b"\x01\xff\xff\xff\xff", "a SASL frame of -1 bytes"),
        (GSSAPI + b"\x02\x7f\xff\xff\xff", "a SASL frame of 2147483647 bytes"),
        (GSSAPI + GSSAPI, "expected SASL's OK or COMPLETE"),
        (GSSAPI + b"\x03", "expected SASL's OK or COMPLETE"),
        (GSSAPI + frame(Status.OK, b"") + b"\x02", "before its last response was answered"),
    ],
)
def test_a_frame_that_is_refused_is_so_as_soon_as_its_head_is_there(data: bytes, why: str) -> None:
    with pytest.raises(ThriftError, match=re.escape(why)):
        Negotiation({"GSSAPI"}).feed(data)


def test_rounds_are_limited() -> None:
    negotiation = Negotiation({"GSSAPI"})
    assert negotiation.feed(GSSAPI) is None
    for _ in range(ROUNDS_MAX):
        assert negotiation.feed(frame(Status.OK, b"r")) == b"r"
        negotiation.challenge(b"c")
    with pytest.raises(ThriftError, match="more than 8 rounds"):
        negotiation.feed(frame(Status.OK, b"r"))


def test_nothing_may_follow_a_response_before_it_is_answered() -> None:
    negotiation = Negotiation({"GSSAPI"})
    assert negotiation.feed(GSSAPI + frame(Status.OK, b"r")) == b"r"
    with pytest.raises(ThriftError, match="before its last response was answered"):
        negotiation.feed(b"\x02")
    with pytest.raises(AssertionError):
        Negotiation({"GSSAPI"}).complete(b"")
