from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hive.errors import ThriftError
from hive.thrift.binary import encode
from hive.thrift.plain_values import differences, parse
from hive.thrift.structs import TABLE
from tests.query_api.thrift.structs import structs


def table(**changes: object) -> bytes:
    return encode(TABLE, {"tableName": "t", "parameters": {"a": "1", "b": "2"}, **changes})


@settings(max_examples=40)
@given(structs(3))
def test_equal_bytes_have_no_differences(data: bytes) -> None:
    assert [
        path
        for path, value, _ in differences(parse(data), parse(data))
        if value == value and "nan" not in path.split("/")
    ] == [], "but for what is not a number, or is below one in a map"


@given(st.binary(max_size=60))
def test_bytes_that_are_no_struct_are_refused(data: bytes) -> None:
    with suppress(ThriftError):
        parse(data)


def test_levels_and_types_are_limited() -> None:
    with pytest.raises(ThriftError, match="more than 64 levels"):
        parse(b"\x0c\0\1" * 100 + b"\0" * 101)
    with pytest.raises(ThriftError, match="no type has the code 99"):
        parse(b"\x63\0\1\0\0")
    with pytest.raises(ThriftError, match="1 bytes too many after a struct"):
        parse(b"\0\0")


def test_the_order_of_a_map_is_no_difference() -> None:
    one, other = b"\0\0\0\1a\0\0\0\0011", b"\0\0\0\1b\0\0\0\0012"
    head, end = b"\x0d\0\1\x0b\x0b\0\0\0\2", b"\0"
    first, second = (parse(head + body + end) for body in (one + other, other + one))
    assert first == second


def test_a_difference_is_named_by_the_way_to_it() -> None:
    ours, theirs = parse(table()), parse(table(parameters={"a": "1", "b": "3"}, owner="ann"))
    assert list(differences(ours, theirs)) == [("/3", None, b"ann"), ("/9/b", b"2", b"3")]
