import struct
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hive.errors import ThriftError
from query_api.thrift.protocol.scanner import Scanner
from tests.query_api.thrift.structs import message, names, structs

BYTES_MAX = 1 << 20


def scan(data: bytes, cuts: list[int]) -> list[tuple[str, int, int]]:
    """Method, kind and end of all messages in bytes that come in these pieces."""
    scanner = Scanner(BYTES_MAX)
    ends = []
    edges = sorted({0, len(data), *(cut % (len(data) + 1) for cut in cuts)})
    for start, end in pairwise(edges):
        piece, at = data[start:end], 0
        while at < len(piece):
            stop = scanner.feed(piece, at)
            if stop < 0:
                break
            at = stop
            ends.append((scanner.method, scanner.kind, start + at))
    return ends


@settings(max_examples=60)
@example([("m", b"\x0f\0\1\x0c\0\0\0\2\0\0\0", 1, False)], [20])
@given(
    st.lists(st.tuples(names, structs(), st.sampled_from([1, 2, 3, 4]), st.booleans()), min_size=1),
    st.lists(st.integers(0, 1 << 16), max_size=12),
)
def test_the_end_of_each_message_is_found_whatever_its_pieces(
    given_messages: list[tuple[str, bytes, int, bool]], cuts: list[int]
) -> None:
    data, expected = b"", []
    for method, body, kind, old in given_messages:
        data += message(method, body, kind=kind, old=old)
        expected.append((method, kind, len(data)))
    assert scan(data, cuts) == expected


@settings(max_examples=50)
@given(names, structs(), st.booleans(), st.integers(-(1 << 31), (1 << 31) - 1))
def test_of_a_message_the_sequence_and_the_place_of_its_struct_are_known(
    method: str, body: bytes, old: bool, sequence: int
) -> None:
    scanner = Scanner(BYTES_MAX)
    data = message(method, body, sequence=sequence, old=old)
    assert scanner.feed(data) == len(data)
    assert scanner.sequence == struct.pack("!i", sequence)
    assert data[scanner.body_at :] == body
    assert scanner.idle


def outcome(data: bytes, cuts: list[int]) -> object:
    try:
        return scan(data, cuts)
    except ThriftError:
        return "refused"


@settings(max_examples=50)
@given(st.binary(max_size=200), st.lists(st.integers(0, 200), max_size=8))
@example(message("m", b"\x0f\0\1\x63\0\0\0\1"), [])
def test_hostile_bytes_are_refused_or_awaited_and_nothing_else(
    data: bytes, cuts: list[int]
) -> None:
    for one in (data, message("get_table", data)):
        assert outcome(one, cuts) == outcome(one, [])


@settings(max_examples=50)
@given(structs(), st.data())
def test_a_byte_that_was_changed_does_no_harm(body: bytes, chosen: st.DataObject) -> None:
    data = bytearray(message("get_table", body))
    data[chosen.draw(st.integers(0, len(data) - 1))] = chosen.draw(st.integers(0, 255))
    outcome(bytes(data), [])


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (message("m", b"\x0b\0\1\x7f\xff\xff\xff"), "more than"),
        (message("m", b"\x0b\0\1\xff\xff\xff\xff"), "more than"),
        (message("m", b"\x0f\0\1\x0c\x7f\xff\xff\xff"), "items"),
        (message("m", b"\x0f\0\1\x0a\xff\xff\xff\xff"), "items"),
        (message("m", b"\x0f\0\1\x0b\0\0\0\1\xff\xff\xff\xff"), "more than"),
        (message("m", b"\x0d\0\1\x0b\x01\0\0\0\1"), "unknown type"),
        (message("m", b"\x01\0\1"), "code 1"),
        (message("m", b"\x0c\0\1" * 70), "levels"),
        (message("m", b"\x0f\0\1\x0f\0\0\0\1" + b"\x0f\0\0\0\1" * 70), "levels"),
        (message("m", b"\0", kind=9), "type 9"),
        (b"\x80\x02\0\1", "version"),
        (b"\x16\x03\x01\x02", "not Thrift"),
        (b"GET / HTTP/1.1\r\n", "not Thrift"),
        (b"\0\0\0\x30" + message("get_table", b"\0" * 50), "framed"),
        (b"\0\0\0\0", "not Thrift"),
    ],
)
def test_what_is_too_much_or_nothing_of_ours_is_refused_at_once(data: bytes, why: str) -> None:
    with pytest.raises(ThriftError, match=why):
        Scanner(BYTES_MAX).feed(data)


def test_a_message_is_refused_at_its_first_byte_too_many() -> None:
    body = b"\x0b\0\1" + struct.pack("!i", 1000) + b"x" * 1000 + b"\0"
    data = message("m", body)
    assert Scanner(len(data)).feed(data) == len(data)
    with pytest.raises(ThriftError, match="more than"):
        Scanner(len(data) - 2).feed(data[:50])


def test_a_message_of_very_many_values_needs_bytes_in_them() -> None:
    def strings(count: int, size: int) -> bytes:
        text = struct.pack("!i", size) + b"x" * size
        return message("m", b"\x0f\0\1\x0b" + struct.pack("!i", count) + text * count + b"\0")

    full, empty = strings(100, 40), message("m", b"\x0c\0\1\0" * 100 + b"\0")
    for data, steps_max in ((full, 10), (empty, 1_000)):
        scanner = Scanner(BYTES_MAX, steps_max)
        assert scanner.feed(data) == len(data)
        assert 100 <= scanner.steps < 400
    with pytest.raises(ThriftError, match="more than 113 values in the first 414 bytes"):
        Scanner(BYTES_MAX, 10).feed(empty)
