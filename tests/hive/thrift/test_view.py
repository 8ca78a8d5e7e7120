"""The lazy view sees what decoding sees."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive.errors import ThriftError
from hive.thrift.binary import decode, encode
from hive.thrift.structs import PARTITION, TABLE
from hive.thrift.view import PartitionView, TableView, View
from tests.hive.thrift.objects import values


@given(values(TABLE))
def test_a_table(mapping: dict[str, Any]) -> None:
    data = encode(TABLE, mapping)
    table, view = decode(TABLE, data), TableView(data)
    assert view.id == table.get("id", 0)
    assert view.write_id == table.get("writeId", -1)
    assert view.table_type == table.get("tableType", "")
    assert view.owner == table.get("owner")
    assert view.i32(4) == table["createTime"]
    assert view.location == table.get("sd", {}).get("location")
    assert (view.columns is None) == ("cols" not in table.get("sd", {}))
    assert view.partition_keys == tuple(c.get("name", "") for c in table["partitionKeys"])
    for key in ("transactional", "EXTERNAL"):
        assert view.parameter(key) == table["parameters"].get(key)
    assert view.transactional is (table["parameters"].get("transactional", "").lower() == "true")


@given(values(PARTITION))
def test_a_partition(mapping: dict[str, Any]) -> None:
    data = encode(PARTITION, mapping)
    partition, view = decode(PARTITION, data), PartitionView(data)
    assert view.values == tuple(partition.get("values", ()))
    assert view.write_id == partition["writeId"]
    assert view.location == partition.get("sd", {}).get("location")
    assert view.parameter("transactional") == partition["parameters"].get("transactional")


def test_columns_compare_by_their_bytes() -> None:
    def view(*names: str) -> TableView:
        columns = [{"name": name, "type": "int"} for name in names]
        return TableView(encode(TABLE, {"sd": {"cols": columns, "location": names[0]}}))

    assert view("a", "b").columns == view("A", "b").columns
    assert view("a", "b").columns != view("b", "a").columns


@given(values(TABLE), st.data())
def test_bytes_cut_short_give_our_error_or_a_true_answer(
    mapping: dict[str, Any], data: st.DataObject
) -> None:
    whole = encode(TABLE, mapping)
    view = TableView(whole[: data.draw(st.integers(0, len(whole) - 1))])
    true = TableView(whole)
    for read in ("id", "location", "columns", "partition_keys", "transactional", "table_type"):
        try:
            assert getattr(view, read) == getattr(true, read)
        except ThriftError:
            continue


@pytest.mark.parametrize("id_", [1, 9])
def test_a_field_of_another_type_is_refused(id_: int) -> None:
    view = View(encode(TABLE, {"tableName": "t"}))
    with pytest.raises(ThriftError, match=f"field {id_} is of type"):
        view.i64(id_)


def test_what_is_not_set_is_nothing() -> None:
    view = View(b"\0")
    assert (view.raw(1), view.text(1), view.i32(1), view.i64(1), view.struct(1)) == (None,) * 5
    assert (view.texts(1), view.structs(1), view.in_map(1, "a"), view.ids()) == ((), (), None, [])


LIST_OF_NUMBERS = b"\x0f\0\1\x08\0\0\0\1\0\0\0\7\0"
MAP_OF_NUMBERS = b"\x0d\0\1\x08\x08\0\0\0\1\0\0\0\7\0\0\0\7\0"
TEXT_OF_NEGATIVE_LENGTH = b"\x0b\0\1\xff\xff\xff\xff\0"
TEXT_OF_OTHER_CHARACTERS = b"\x0b\0\1\0\0\0\1\xff\0"


@pytest.mark.parametrize(
    ("data", "read", "why"),
    [
        (LIST_OF_NUMBERS, lambda view: view.texts(1), "no list of texts in field 1"),
        (LIST_OF_NUMBERS, lambda view: view.structs(1), "no list of structs in field 1"),
        (MAP_OF_NUMBERS, lambda view: view.in_map(1, "a"), "no map of texts in field 1"),
        (TEXT_OF_NEGATIVE_LENGTH, lambda view: view.text(1), "a negative length at byte 3"),
        (TEXT_OF_OTHER_CHARACTERS, lambda view: view.text(1), "the text at byte 3 is no UTF-8"),
        (LIST_OF_NUMBERS[:5], lambda view: view.texts(1), "a length ends beyond all 5 bytes"),
        (LIST_OF_NUMBERS[:4] + b"\x7f" * 5, lambda view: view.texts(1), "a length of 2139062143"),
        (b"\x08\0\1\0", lambda view: view.i32(1), "a number ends beyond all 4 bytes"),
        (b"\x08\0", lambda view: view.i32(1), "a struct ends beyond all 2 bytes"),
        (b"\x08\0", lambda view: view.ids(), "a struct ends beyond all 2 bytes"),
    ],
)
def test_damaged_bytes_are_refused(data: bytes, read: Callable[[View], object], why: str) -> None:
    with pytest.raises(ThriftError, match=why):
        read(View(data))
