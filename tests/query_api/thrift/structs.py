"""Structs of any shape, as Hypothesis makes them, and messages around them."""

import struct
from typing import Any

from hypothesis import strategies as st

from query_api.thrift.protocol.compact_writer import compact
from query_api.thrift.protocol.scanner import Scanner
from query_api.thrift.protocol.wire import Message

BOOL, BYTE, DOUBLE, I16, I32, I64 = 2, 3, 4, 6, 8, 10
STRING, STRUCT, MAP, SET, LIST = 11, 12, 13, 14, 15
_FORMATS = {BOOL: "!?", BYTE: "!b", DOUBLE: "!d", I16: "!h", I32: "!i", I64: "!q"}

scalars = st.sampled_from([*_FORMATS, STRING])
names = st.from_regex(r"[A-Za-z_][A-Za-z0-9_.:]{0,40}", fullmatch=True)


def _scalar(code: int) -> st.SearchStrategy[bytes]:
    if code == STRING:
        return st.binary(max_size=40).map(lambda text: struct.pack("!i", len(text)) + text)
    size = struct.calcsize(_FORMATS[code])
    return st.binary(min_size=size, max_size=size)


def _values(code: int, depth: int) -> st.SearchStrategy[bytes]:
    if code == STRUCT:
        return structs(depth - 1)
    if code in (LIST, SET):
        return _codes(depth - 1).flatmap(
            lambda item: st.lists(_values(item, depth - 1), max_size=4).map(
                lambda values: struct.pack("!bi", item, len(values)) + b"".join(values)
            )
        )
    if code == MAP:
        return st.tuples(_codes(depth - 1), _codes(depth - 1)).flatmap(
            lambda codes: st.lists(
                st.tuples(*(_values(code, depth - 1) for code in codes)), max_size=4
            ).map(lambda pairs: _map(codes, pairs))
        )
    return _scalar(code)


def _map(codes: tuple[int, int], pairs: list[Any]) -> bytes:
    return struct.pack("!bbi", *codes, len(pairs)) + b"".join(one for pair in pairs for one in pair)


def _codes(depth: int) -> st.SearchStrategy[int]:
    return scalars if depth <= 0 else scalars | st.sampled_from([STRUCT, MAP, SET, LIST])


def structs(depth: int = 3) -> st.SearchStrategy[bytes]:
    """The bytes of a struct."""
    field = _codes(depth).flatmap(
        lambda code: st.tuples(st.integers(-100, 100), _values(code, depth)).map(
            lambda pair: struct.pack("!bh", code, pair[0]) + pair[1]
        )
    )
    return st.lists(field, max_size=5).map(lambda fields: b"".join(fields) + b"\0")


def message(
    method: str, body: bytes, *, kind: int = 1, sequence: int = 1, old: bool = False
) -> bytes:
    """A message, with or without a version."""
    name = method.encode()
    if old:
        return struct.pack("!i", len(name)) + name + struct.pack("!bi", kind, sequence) + body
    return struct.pack("!HHi", 0x8001, kind, len(name)) + name + struct.pack("!i", sequence) + body


def text(number: int, value: str) -> bytes:
    """A field."""
    data = value.encode()
    return struct.pack("!bhi", STRING, number, len(data)) + data


def compacted(data: bytes) -> bytes:
    """A message of the binary protocol in the compact one."""
    scanner = Scanner(1 << 20)
    scanner.feed(data)
    method, kind, sequence = scanner.method, scanner.kind, scanner.sequence
    return compact(Message(data, method, kind, sequence, scanner.body_at, 0))
