"""Spliced bytes are those of the changed object."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from hive.thrift.binary import decode, encode
from hive.thrift.canonical import ACID_PARTITION
from hive.thrift.splice import acid_partition, has_values, without_buckets, without_columns
from hive.thrift.structs import PARTITION, TABLE
from hive.thrift.types import ListOf, Struct
from tests.hive.thrift.objects import values


@given(values(PARTITION))
def test_a_partition_of_an_acid_table(mapping: dict[str, Any]) -> None:
    data = encode(PARTITION, mapping)
    assert acid_partition(data) == encode(ACID_PARTITION, decode(PARTITION, data))


@given(values(PARTITION))
def test_a_partition_without_columns_and_buckets(mapping: dict[str, Any]) -> None:
    data = encode(PARTITION, mapping)
    expected = decode(PARTITION, data)
    descriptor = expected.get("sd")
    if descriptor is not None:
        if "cols" in descriptor:
            descriptor["cols"] = []
        if descriptor["numBuckets"] > 0:
            descriptor["numBuckets"] = -1
    changed = without_buckets(PARTITION, without_columns(data))
    assert decode(PARTITION, changed) == expected


@given(values(TABLE))
def test_a_table_without_buckets(mapping: dict[str, Any]) -> None:
    data = encode(TABLE, mapping)
    expected = decode(TABLE, data)
    if expected.get("sd", {}).get("numBuckets", 0) > 0:
        expected["sd"]["numBuckets"] = -1
    assert decode(TABLE, without_buckets(TABLE, data)) == expected


@given(*[st.lists(st.sampled_from(["", "a", "ab", "ü"]), max_size=3)] * 2)
def test_a_partition_has_its_values_and_no_others(stored: list[str], wanted: list[str]) -> None:
    assert has_values(encode(PARTITION, {"values": stored}), wanted) is (stored == wanted)


@given(values(TABLE))
def test_a_table_within_a_struct_may_be_bytes_already(mapping: dict[str, Any]) -> None:
    answer = Struct("answer", (1, "table", TABLE), (2, "tables", ListOf(TABLE)))
    data = encode(TABLE, mapping)
    as_bytes = encode(answer, {"table": data, "tables": [data, data]})
    assert as_bytes == encode(answer, {"table": mapping, "tables": [mapping, mapping]})
