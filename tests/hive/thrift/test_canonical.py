"""The rules of the canonical form, one by one."""

from typing import Any

import pytest

from hive.thrift.binary import decode, encode, extended, replaced
from hive.thrift.canonical import ACID_PARTITION
from hive.thrift.structs import (
    DATABASE,
    FOREIGN_KEY,
    FUNCTION,
    PARTITION,
    PRIMARY_KEY,
    STORAGE_DESCRIPTOR,
    TABLE,
)
from hive.thrift.types import Struct

EMPTY_SKEW: dict[str, Any] = {
    "skewedColNames": [],
    "skewedColValues": [],
    "skewedColValueLocationMaps": {},
}
FULL = {
    "location": "file:/a",
    "serdeInfo": {
        "name": "s",
        "serializationLib": "l",
        "parameters": {"a": "b"},
        "description": "d",
    },
    "sortCols": [{"col": "a", "order": 1}],
    "parameters": {"x": "y"},
    "skewedInfo": {**EMPTY_SKEW, "skewedColNames": ["a"]},
}
ACID = {"transactional": "TRUE", "transactional_properties": "default"}


def canonical(struct: Struct, **fields: Any) -> dict[str, Any]:
    return decode(struct, encode(struct, fields))


@pytest.mark.parametrize(
    ("struct", "fields", "expected"),
    [
        (TABLE, {"tableName": "T", "dbName": "D"}, {"tableName": "t", "dbName": "d"}),
        (TABLE, {"sd": {"cols": [{"name": "Id"}]}}, {"sd.cols": [{"name": "id"}]}),
        (TABLE, {}, {"catName": "hive", "ownerType": 1, "rewriteEnabled": False}),
        (TABLE, {}, {"temporary": False, "parameters": {}, "partitionKeys": [], "retention": 0}),
        (TABLE, {"accessType": 8, "txnId": 3, "privileges": {}}, {"accessType": None}),
        (TABLE, {"accessType": 8, "txnId": 3, "privileges": {}}, {"txnId": None}),
        (TABLE, {"creationMetadata": {"validTxnList": "5:5::"}}, {"creationMetadata": None}),
        (TABLE, {"writeId": 0}, {"writeId": 0}),
        (PARTITION, {"writeId": 0}, {"writeId": -1}),
        (PARTITION, {"writeId": 7}, {"writeId": 7}),
        (PARTITION, {}, {"writeId": -1, "catName": "hive", "parameters": {}}),
        (STORAGE_DESCRIPTOR, {}, {"skewedInfo": EMPTY_SKEW, "sortCols": [], "bucketCols": []}),
        (DATABASE, {"name": "D"}, {"name": "d", "ownerType": 1, "type": 1, "catalogName": "hive"}),
        (FUNCTION, {"functionName": " F "}, {"functionName": "f", "catName": "hive"}),
        (PRIMARY_KEY, {"column_name": "ID"}, {"column_name": "id", "rely_cstr": False}),
        (FOREIGN_KEY, {"pk_name": " PK_Orders "}, {"pk_name": "pk_orders"}),
        (PRIMARY_KEY, {"column_name": "Id" * 300}, {"column_name": "id" * 300}),
    ],
)
def test_a_rule(struct: Struct, fields: dict[str, Any], expected: dict[str, Any]) -> None:
    canonical_fields = canonical(struct, **fields)
    for path, value in expected.items():
        inner: Any = canonical_fields
        for name in path.split("."):
            inner = inner.get(name)
        assert inner == value


@pytest.mark.parametrize(
    ("parameters", "short"),
    [
        (ACID, True),
        ({"transactional": "true"}, False),
        ({**ACID, "transactional_properties": "insert_only"}, False),
        ({"transactional": "false"}, False),
        ({}, False),
    ],
)
def test_a_full_acid_table_keeps_only_the_core_of_its_descriptor(
    parameters: dict[str, str], short: bool
) -> None:
    descriptor = canonical(TABLE, parameters=parameters, sd=FULL)["sd"]
    assert (descriptor["sortCols"] == []) is short
    assert (descriptor["parameters"] == {}) is short
    assert (descriptor["skewedInfo"] == EMPTY_SKEW) is short
    assert ("description" not in descriptor["serdeInfo"]) is short
    assert (descriptor["serdeInfo"]["parameters"] == {}) is short
    assert descriptor["location"] == "file:/a"


def test_partitions_keep_theirs_unless_asked_for_the_short_form() -> None:
    assert canonical(PARTITION, sd=FULL)["sd"]["parameters"] == {"x": "y"}
    assert canonical(ACID_PARTITION, sd=FULL)["sd"]["parameters"] == {}


@pytest.mark.parametrize(
    ("given", "external", "stored"),
    [
        ("MANAGED_TABLE", "TRUE", "EXTERNAL_TABLE"),
        ("EXTERNAL_TABLE", "TRUE", "EXTERNAL_TABLE"),
        ("EXTERNAL_TABLE", "false", "MANAGED_TABLE"),
        ("MANAGED_TABLE", "", "MANAGED_TABLE"),
        ("VIRTUAL_VIEW", "TRUE", "VIRTUAL_VIEW"),
    ],
)
def test_the_type_agrees_with_the_parameter(given: str, external: str, stored: str) -> None:
    table = canonical(TABLE, tableType=given, parameters={"EXTERNAL": external})
    assert table["tableType"] == stored


@pytest.mark.parametrize("table_type", ["VIRTUAL_VIEW", "MATERIALIZED_VIEW", "MANAGED_TABLE"])
def test_only_views_have_texts(table_type: str) -> None:
    table = canonical(TABLE, tableType=table_type, viewOriginalText="x", viewExpandedText="y")
    assert ("viewExpandedText" in table) is table_type.endswith("VIEW")
    assert ("viewOriginalText" in table) is table_type.endswith("VIEW")


def test_a_table_without_a_type_counts_as_a_view_by_a_text_that_it_doesnt_show() -> None:
    table = canonical(TABLE, viewOriginalText="x", viewExpandedText="y")
    assert table["tableType"] == "VIRTUAL_VIEW"
    assert table.keys().isdisjoint(("viewOriginalText", "viewExpandedText"))


def test_a_field_is_replaced_and_one_beyond_the_form_added() -> None:
    data = encode(TABLE, {"tableName": "t", "parameters": {"a": "1"}})
    assert decode(TABLE, replaced(TABLE, data, parameters={"b": "2"}))["parameters"] == {"b": "2"}
    answer = decode(TABLE, extended(TABLE, data, accessType=8))
    assert answer == {**decode(TABLE, data), "accessType": 8}
