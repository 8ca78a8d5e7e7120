"""Encoding and decoding of objects by our descriptions."""

import json
from pathlib import Path
from typing import Any

import pytest

from hive.errors import ThriftError
from hive.thrift.binary import Unknown, decode, encode
from hive.thrift.plain_values import parse
from hive.thrift.structs import FIELD_SCHEMA, PARTITION, SKEWED_INFO, STORAGE_DESCRIPTOR, TABLE
from hive.thrift.types import Struct, boolean

LOGS = Path(__file__).parents[2] / "data" / "hive-4.2.0"


def test_a_struct_is_its_fields_by_id_and_a_stop() -> None:
    data = encode(FIELD_SCHEMA, {"type": "int", "name": "a"})
    assert data == b"\x0b\x00\x01\x00\x00\x00\x01a\x0b\x00\x02\x00\x00\x00\x03int\x00"


@pytest.mark.parametrize("log", ["every-event-json", "one-writer", "four-writers"])
def test_every_object_of_a_real_metastore_comes_back(log: str) -> None:
    state: dict[str, Any] = json.loads((LOGS / log / "state.json").read_text())
    for table in state["tables"].values():
        del table["accessType"]
        assert decode(TABLE, encode(TABLE, table)) == table
    for partitions in state["partitions"].values():
        for partition in partitions.values():
            assert decode(PARTITION, encode(PARTITION, partition)) == partition


def test_the_order_of_a_map_changes_nothing() -> None:
    one = encode(TABLE, {"parameters": {"b": "1", "a": "2"}})
    two = encode(TABLE, {"parameters": {"a": "2", "b": "1"}})
    assert one == two


def test_a_map_may_have_lists_as_keys() -> None:
    skewed = {"skewedColValueLocationMaps": {("1", "x"): "file:/a"}}
    assert decode(SKEWED_INFO, encode(SKEWED_INFO, skewed)).items() >= skewed.items()


@pytest.mark.parametrize(("byte", "value"), [(0, False), (1, True), (2, False), (255, False)])
def test_only_one_is_true(byte: int, value: bool) -> None:
    """So Java reads it."""
    data = b"\x02\0\1" + bytes((byte, 0))
    assert decode(Struct("S", (1, "flag", boolean)), data) == {"flag": value}
    assert parse(data) == {1: value}


def test_an_unknown_field_survives_in_its_place() -> None:
    data = encode(FIELD_SCHEMA, {"name": "a", "comment": "c"})
    foreign = data[:-1] + b"\x08\x00\x09\x00\x00\x00\x05" + b"\x00"
    value = decode(FIELD_SCHEMA, foreign)
    assert value == {"name": "a", "comment": "c", "#9": Unknown(8, b"\x00\x00\x00\x05")}
    assert encode(FIELD_SCHEMA, value) == foreign


def test_an_encoded_struct_is_copied_into_its_parent() -> None:
    sd = {"location": "file:/a", "cols": [{"name": "a", "type": "int"}]}
    assert encode(PARTITION, {"sd": encode(STORAGE_DESCRIPTOR, sd)}) == encode(
        PARTITION, {"sd": sd}
    )


def test_a_name_that_the_struct_lacks_is_refused() -> None:
    with pytest.raises(ThriftError, match="FieldSchema has no field 'nme'"):
        encode(FIELD_SCHEMA, {"nme": "a"})


@pytest.mark.parametrize("value", [{"name": 1}, {"name": b"x"}, {"name": ["x"]}])
def test_a_value_of_another_type_is_refused(value: dict[str, Any]) -> None:
    with pytest.raises(ThriftError, match="no FieldSchema"):
        encode(FIELD_SCHEMA, value)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x0b\x00\x01\x00\x00\x00\x05ab",
        b"\x0b\x00\x01\xff\xff\xff\xffab\x00",
        b"\x0b\x00\x01\x00\x00\x00\x01\xff\x00",
        b"\x00\x00",
        b"\x0f\x00\x09\x0b\x7f\xff\xff\xff\x00",
        b"\x63\x00\x09\x00",
        b"\x0c\x00\x09" * 100,
    ],
)
def test_bytes_that_are_no_struct_are_refused(data: bytes) -> None:
    with pytest.raises(ThriftError):
        decode(FIELD_SCHEMA, data)


@pytest.mark.parametrize(
    ("struct", "data"),
    [
        (TABLE, b"\x0f\0\x08\x0b\0\0\0\1\0\0\0\1a\0"),
        (TABLE, b"\x0d\0\x09\x0b\x08\0\0\0\1\0\0\0\1a\0\0\0\1\0"),
    ],
)
def test_items_of_another_type_are_refused(struct: Struct, data: bytes) -> None:
    with pytest.raises(ThriftError, match=r"type \d+ at byte \d+ where \d+ is described"):
        decode(struct, data)
