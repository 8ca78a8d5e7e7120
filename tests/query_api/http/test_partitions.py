"""Partitions as JSON, whatever came before them."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive.errors import ThriftError
from hive.thrift.binary import Unknown, decode, encode
from hive.thrift.structs import PARTITION
from query_api.http.json_objects import as_json
from query_api.http.partitions import PartitionWriter
from tests.hive.thrift.objects import TEXTS, values

LIKE = st.fixed_dictionaries(
    {
        "values": st.lists(TEXTS, max_size=2),
        "dbName": st.just("sales"),
        "sd": st.fixed_dictionaries(
            {"location": TEXTS, "cols": st.just([{"name": "a", "type": "int"}])}
        ),
        "parameters": st.dictionaries(TEXTS, TEXTS, max_size=2),
    }
)
"""Partitions of one table."""


def plain(data: bytes) -> bytes:
    return as_json(decode(PARTITION, data))


@given(st.lists(LIKE | values(PARTITION), max_size=6))
def test_each_is_written_as_alone(partitions: list[dict[str, Any]]) -> None:
    writer = PartitionWriter()
    for one in partitions:
        data = encode(PARTITION, one)
        assert writer.write(data) == plain(data)


def test_other_fields_than_those_before_are_seen() -> None:
    writer = PartitionWriter()
    base = {"values": ["a"], "sd": {"location": "l"}, "parameters": {"k": "v"}}
    changes: tuple[dict[str, Any], ...] = (
        {},
        {"writeId": 7},
        {"sd": {"location": "m", "numBuckets": 3}},
        {"sd": {"inputFormat": "orc"}},
        {"values": []},
        {"#99": Unknown(8, b"\0\0\0\1")},
        {},
    )
    for change in changes:
        data = encode(PARTITION, {**base, **change})
        assert writer.write(data) == plain(data)


def test_what_is_no_partition_is_refused() -> None:
    writer = PartitionWriter()
    data = encode(PARTITION, {"values": ["a"], "parameters": {"k": "v"}})
    writer.write(data)
    for cut in range(len(data)):
        with pytest.raises(ThriftError):
            writer.write(data[:cut])


def test_keys_that_are_lists_are_texts() -> None:
    places = {"skewedColValueLocationMaps": {("a", '"'): "l"}}
    data = encode(PARTITION, {"sd": {"skewedInfo": places}})
    skewed = msgspec.json.decode(PartitionWriter().write(data))["sd"]["skewedInfo"]
    assert skewed["skewedColValueLocationMaps"] == {r'["a","\""]': "l"}
