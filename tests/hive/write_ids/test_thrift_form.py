import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive.errors import WriteIdListError
from hive.write_ids.lists import WriteIdList, write_id_list
from hive.write_ids.thrift_form import (
    TableValidWriteIds,
    from_thrift,
    parse_bit_set,
    print_bit_set,
    to_thrift,
)
from tests.hive.write_ids.model import write_id_lists


@given(write_id_lists())
def test_lists_round_trip(ids: WriteIdList) -> None:
    assert from_thrift(to_thrift(ids)) == ids


def test_the_struct() -> None:
    ids = write_id_list(24, [16, 21, 24], [4, 13, 15, 19], "lake.t6")
    wanted = TableValidWriteIds("lake.t6", 24, [4, 13, 15, 16, 19, 21, 24], 16, b"\x17")
    assert to_thrift(ids) == wanted
    assert to_thrift(write_id_list(3)) == TableValidWriteIds("null", 3, [], None, b"")


@given(st.sets(st.integers(0, 200)))
def test_bit_sets_are_little_endian_numbers_without_zero_bytes_at_the_end(places: set[int]) -> None:
    number = sum(1 << place for place in places)
    bits = print_bit_set(sorted(places))
    assert bits == number.to_bytes((number.bit_length() + 7) // 8, "little")
    assert parse_bit_set(bits + b"\0") == sorted(places)


def test_an_id_that_is_open_and_aborted_is_sent_twice() -> None:
    ids = WriteIdList(5, write_id_list(5, [3]).open, write_id_list(5, [3]).open, 3, "d.t")
    assert to_thrift(ids) == TableValidWriteIds("d.t", 5, [3, 3], 3, b"\x01")
    assert from_thrift(to_thrift(ids)) == ids


def test_a_bit_without_an_id_is_refused() -> None:
    with pytest.raises(WriteIdListError, match="aborted bit 2 is set, but there are 1 invalid"):
        from_thrift(TableValidWriteIds("d.t", 5, [3], 3, b"\x04"))
