"""The compact protocol, compared with the one of Apache Thrift's own library."""

import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.protocol.TCompactProtocol import TCompactProtocol
from thrift.Thrift import TType
from thrift.transport.TTransport import TMemoryBuffer

from hive.errors import ThriftError
from query_api.thrift.connection.compact_layer import REPLY_BYTES_MAX, CompactLayer
from query_api.thrift.protocol.compact_reader import CompactReader
from query_api.thrift.protocol.compact_writer import compact
from query_api.thrift.protocol.frames import Frames
from query_api.thrift.protocol.scanner import READ_STEPS_MAX, STEPS_MAX, Scanner
from query_api.thrift.protocol.wire import Message
from tests.query_api.thrift.structs import message
from tests.support.mutations import Mutation, mutations

MIB = 1 << 20
Typed = tuple[int, Any]
_integers = {
    code: st.integers(-(1 << bits - 1), (1 << bits - 1) - 1)
    for code, bits in {TType.BYTE: 8, TType.I16: 16, TType.I32: 32, TType.I64: 64}.items()
}
_SCALARS: dict[int, st.SearchStrategy[Any]] = {
    TType.BOOL: st.booleans(),
    **_integers,
    TType.DOUBLE: st.floats(allow_nan=False),
    TType.STRING: st.text(max_size=300).map(str.encode),
}
scalars = st.sampled_from(sorted(_SCALARS)).flatmap(
    lambda code: st.tuples(st.just(code), _SCALARS[code])
)


def containers(inner: st.SearchStrategy[Typed]) -> st.SearchStrategy[Typed]:
    """Values of one type in a list, a set or a map; or of any types in a struct."""
    same = st.tuples(inner, st.integers(0, 20))
    repeated = same.map(lambda pair: (pair[0][0], [pair[0][1]] * pair[1]))
    fields = st.dictionaries(st.integers(1, 1 << 14), inner, max_size=5)
    return st.one_of(
        st.tuples(st.sampled_from((TType.LIST, TType.SET)), repeated),
        st.tuples(st.just(TType.MAP), st.tuples(inner, inner)),
        st.tuples(st.just(TType.STRUCT), fields),
    )


structs = st.dictionaries(
    st.integers(1, 1 << 14), st.recursive(scalars, containers, max_leaves=15), max_size=6
)


def write(protocol: Any, code: int, value: Any) -> None:
    match code:
        case TType.STRUCT:
            protocol.writeStructBegin("")
            for number, (kind, content) in sorted(value.items()):
                protocol.writeFieldBegin("", kind, number)
                write(protocol, kind, content)
                protocol.writeFieldEnd()
            protocol.writeFieldStop()
            protocol.writeStructEnd()
        case TType.LIST | TType.SET:
            kind, items = value
            protocol.writeListBegin(kind, len(items))
            for item in items:
                write(protocol, kind, item)
            protocol.writeListEnd()
        case TType.MAP:
            (keys, key), (values, content) = value
            protocol.writeMapBegin(keys, values, 1)
            write(protocol, keys, key)
            write(protocol, values, content)
            protocol.writeMapEnd()
        case TType.STRING:
            protocol.writeBinary(value)
        case _:
            names = {2: "Bool", 3: "Byte", 4: "Double", 6: "I16", 8: "I32", 10: "I64"}
            getattr(protocol, f"write{names[code]}")(value)


def written(protocol: type, body: dict[int, Typed]) -> bytes:
    """A call as the library writes it."""
    buffer = TMemoryBuffer()
    own = protocol(buffer)
    own.writeMessageBegin("get_table", 1, 7)
    write(own, TType.STRUCT, body)
    own.writeMessageEnd()
    data: bytes = buffer.getvalue()
    return data


def pieces(data: bytes, size: int) -> list[bytes]:
    return [data[at : at + size] for at in range(0, len(data), size)]


def parsed(data: bytes) -> Message:
    scanner = Scanner(1 << 30)
    assert scanner.feed(data) == len(data)
    return Message(data, scanner.method, scanner.kind, scanner.sequence, scanner.body_at, 0)


@given(st.lists(structs, min_size=1, max_size=3), st.integers(1, 50))
def test_calls_are_read_as_the_library_writes_them(
    bodies: list[dict[int, Typed]], size: int
) -> None:
    calls = b"".join(written(TCompactProtocol, body) for body in bodies)
    reader = CompactReader(MIB, STEPS_MAX)
    read = b"".join(map(reader.feed, pieces(calls, size)))
    assert read == b"".join(written(TBinaryProtocol, body) for body in bodies)
    assert not reader.held_bytes


@given(structs)
def test_messages_are_written_as_the_library_writes_them(body: dict[int, Typed]) -> None:
    assert compact(parsed(written(TBinaryProtocol, body))) == written(TCompactProtocol, body)


@given(structs, st.lists(mutations((b"\xff", b"\x80" * 20, b"\xfc\xff\xff\xff\x0f")), max_size=3))
def test_mutated_calls_are_refused_or_read_alike_in_any_pieces(
    body: dict[int, Typed], changes: list[Mutation]
) -> None:
    data = written(TCompactProtocol, body)
    for change in changes:
        data = change(data)

    def outcome(size: int) -> bytes | None:
        reader, read = CompactReader(MIB, STEPS_MAX), b""
        try:
            for piece in pieces(data, size):
                read += reader.feed(piece)
                assert reader.held_bytes <= 20 * len(data)
        except ThriftError:
            return None
        return read

    assert outcome(1) == outcome(1000)


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"\x18\xff\xff\xff\xff\x0f", "a size of 4294967295"),
        (b"\x18" + b"\xff" * 11, "an integer of more than 10 bytes"),
        (b"\x1d\0", "a field of unknown type 13"),
        (b"\x19\x1d", "items of unknown type 13"),
        (b"\x14\xff\xff\x7f", "a number that is too large"),
        (b"\x1c" * 70, "more than 64 levels"),
        (b"\x19\xf3\xff\xff\x3f" + b"\1" * 200_000, "more than 100000 values"),
    ],
)
def test_what_is_hostile_is_refused(body: bytes, why: str) -> None:
    reader = CompactReader(MIB, STEPS_MAX)
    with pytest.raises(ThriftError, match=why):
        reader.feed(b"\x82\x21\x07\x09get_table" + body)


def test_values_that_grow_are_refused_when_they_have_grown_too_much() -> None:
    eights = b"\x19\xf7" + b"\xe0\xd4\x03"  # A list of 60,000 doubles.
    reader = CompactReader(100_000, STEPS_MAX)
    with pytest.raises(ThriftError, match="more than 100000 bytes"):
        reader.feed(b"\x82\x21\x07\x09get_table" + eights + b"\0" * 480_000)


def test_replies_come_in_any_pieces_and_in_frames() -> None:
    replies = [message("get_table", struct.pack("!bhi", 8, 0, n) + b"\0", kind=2) for n in (5, 6)]
    layer, frames = CompactLayer(Frames(), MIB), Frames()
    sent = b"".join(map(layer.framed, pieces(b"".join(replies), 7)))
    assert frames.feed(sent) == b"".join(compact(parsed(reply)) for reply in replies)


@pytest.mark.parametrize(
    "body",
    [
        b"\x0b\0\0" + (2 * REPLY_BYTES_MAX).to_bytes(4, "big") + bytes(2 * REPLY_BYTES_MAX) + b"\0",
        b"\x0f\0\0\x03"
        + (2 * READ_STEPS_MAX).to_bytes(4, "big")
        + bytes(2 * READ_STEPS_MAX)
        + b"\0",
    ],
    ids=["bytes", "values"],
)
def test_a_reply_that_is_too_large_is_refused_and_the_next_is_given(body: bytes) -> None:
    layer = CompactLayer(None, MIB)
    large, small = message("get_table", body, kind=2), message("get_table", b"\0", kind=2)
    sent = b"".join(map(layer.framed, pieces(large + small, 1 << 16)))
    refused, given_next = sent[: -len(compact(parsed(small)))], sent[-len(compact(parsed(small))) :]
    assert b"isn't given in the compact protocol" in refused
    assert len(refused) < 300
    assert given_next == compact(parsed(small))
