"""The lazy view sees what decoding sees."""

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
