"""What is told of a table and its partitions depends on how they are stored."""

from typing import Any

import pytest

from hive.thrift import requests
from hive.thrift.binary import decode, encode
from hive.thrift.statistics import COLUMN_STATISTICS_OBJ
from hive.thrift.structs import PARTITION, TABLE
from hive.thrift.types import ListOf, Struct
from query_api.thrift.call import Call, CallAnswer, RelayReason
from query_api.thrift.methods.grouping import PARTITION_SPEC
from state.records import Rows, Scope, ScopeKind
from state.records.objects import ColumnStatisticsImage, PartitionImage, TableImage
from tests.query_api.shards import ORDERS, ORDERS_ID, MemoryShard, MemoryShards, change, load
from tests.query_api.thrift.methods.cached_calls import (
    TABLE_RESULT,
    by_expression,
    cached,
    call,
    get_table,
    now,
    reason,
)
from tests.query_api.thrift.methods.comparison import whole

PLACE = {"db_name": "sales", "tbl_name": "orders"}
STORAGE = {
    "cols": [{"name": "amount", "type": "bigint"}],
    "location": "s3a://lake/orders",
    "numBuckets": -1,
    "serdeInfo": {"serializationLib": "org.apache.hadoop.hive.ql.io.orc.OrcSerde"},
    "skewedInfo": {"skewedColNames": []},
}
PARTITIONS_IN = Struct("GetPartitionsByNamesResult", (1, "partitions", ListOf(PARTITION)))
BY_NAMES_RESULT = Struct("result", (0, "success", PARTITIONS_IN))
SPECS_IN = Struct("PartitionsSpecByExprResult", (1, "partitionsSpec", ListOf(PARTITION_SPEC)))
SPECS_RESULT = Struct("result", (0, "success", SPECS_IN))


def stored(partition: dict[str, Any] | None = None, **table: Any) -> MemoryShards:
    """An external table with one partition, which has statistics of its column."""
    of_table = {
        "tableName": "orders",
        "dbName": "sales",
        "tableType": "EXTERNAL_TABLE",
        "sd": STORAGE,
        "partitionKeys": [{"name": "ds", "type": "string"}],
        "parameters": {"EXTERNAL": "TRUE"},
        **table,
    }
    of_partition = {
        "values": ["1"],
        "dbName": "sales",
        "tableName": "orders",
        "createTime": 1,
        "lastAccessTime": 2,
        "sd": {**STORAGE, "location": "s3a://lake/orders/ds=1"},
        "parameters": {},
        **(partition or {}),
    }
    figures = {"longStats": {"numNulls": 3, "numDVs": 4}}
    column = {"colName": "amount", "colType": "bigint", "statsData": figures}
    rows = Rows(
        tables=(TableImage(ORDERS, ORDERS_ID, 0, False, True, encode(TABLE, of_table)),),
        partitions=(PartitionImage(("1",), 0, 0, encode(PARTITION, of_partition)),),
        statistics=(
            ColumnStatisticsImage(
                ("1",), "hive", "amount", 0, 5, encode(COLUMN_STATISTICS_OBJ, column)
            ),
        ),
    )
    return MemoryShards(MemoryShard(change(1), *load(Scope(ScopeKind.TABLE, ORDERS), 1, rows)))


@pytest.mark.parametrize(
    "question",
    [
        call("get_partition_with_auth", **PLACE, part_vals=["1"]),
        call("get_partitions_with_auth", **PLACE, max_parts=-1),
    ],
    ids=lambda question: question.method,
)
def test_partitions_with_privileges_of_their_own_are_left_to_metastores(question: Call) -> None:
    """These privileges are written without events."""
    assert isinstance(now(cached(stored()), question), CallAnswer)
    guarded = stored(parameters={"PARTITION_LEVEL_PRIVILEGE": "TRUE"})
    assert reason(now(cached(guarded), question)) is RelayReason.FORM
    without_them = call("get_partitions", **PLACE, max_parts=-1)
    assert isinstance(now(cached(guarded), without_them), CallAnswer)


@pytest.mark.parametrize("method", ["get_fields", "get_schema"])
def test_columns_that_only_a_serde_knows_are_left_to_metastores(method: str) -> None:
    question = call(method, **PLACE)
    assert isinstance(now(cached(stored()), question), CallAnswer)
    by_serde = {**STORAGE, "serdeInfo": {"serializationLib": "com.example.OwnSerDe"}}
    assert reason(now(cached(stored(sd=by_serde)), question)) is RelayReason.FORM


def test_a_client_that_may_only_read_external_tables_is_told_what_a_write_takes() -> None:
    def shown(*capabilities: str) -> dict[str, Any]:
        outcome = now(cached(stored()), get_table(processorCapabilities=[*capabilities]))
        assert isinstance(outcome, CallAnswer)
        table: dict[str, Any] = decode(TABLE_RESULT, whole(outcome))["success"]["table"]
        return table

    table = shown("EXTREAD")
    assert (table["accessType"], table["requiredWriteCapabilities"]) == (2, ["EXTWRITE"])
    table = shown("EXTREAD", "EXTWRITE")
    assert (table["accessType"], table.get("requiredWriteCapabilities")) == (8, None)


@pytest.mark.parametrize(
    ("accurate", "columns"),
    [
        ('{"COLUMN_STATS":{"amount":"true"}}', ["amount"]),
        ('{"COLUMN_STATS":{"other":"true"}}', None),
        ("true", None),
    ],
)
def test_partitions_come_with_the_statistics_that_they_are_said_to_have(
    accurate: str, columns: list[str] | None
) -> None:
    source = stored({"parameters": {"COLUMN_STATS_ACCURATE": accurate}})
    request = {**PLACE, "names": ["ds=1"], "get_col_stats": True}
    arguments = encode(requests.PARTITIONS_BY_NAMES, request)
    outcome = now(cached(source), call("get_partitions_by_names_req", req=arguments))
    assert isinstance(outcome, CallAnswer)
    (partition,) = decode(BY_NAMES_RESULT, whole(outcome))["success"]["partitions"]
    if columns is None:
        assert "colStats" not in partition
        return
    statistics = partition["colStats"]
    described = statistics["statsDesc"]
    assert (described["isTblLevel"], described["partName"]) == (False, "ds=1")
    assert described["lastAnalyzed"] == 5
    assert [column["colName"] for column in statistics["statsObj"]] == columns


@pytest.mark.parametrize(
    ("partition", "table", "is_grouped"),
    [
        ({}, {}, True),
        ({"sd": None}, {}, False),
        ({}, {"sd": None}, False),
        ({}, {"sd": {**STORAGE, "location": None}}, False),
        ({"sd": {**STORAGE, "location": "s3a://elsewhere/ds=1"}}, {}, False),
    ],
    ids=["within", "no storage", "no table's storage", "no table's location", "elsewhere"],
)
def test_partitions_are_grouped_where_all_lie_in_the_directory_of_their_table(
    partition: dict[str, Any], table: dict[str, Any], is_grouped: bool
) -> None:
    outcome = now(
        cached(stored(partition, **table)), by_expression(b"", "get_partitions_spec_by_expr")
    )
    if not is_grouped:
        assert reason(outcome) is RelayReason.FORM
        return
    assert isinstance(outcome, CallAnswer)
    (group,) = decode(SPECS_RESULT, whole(outcome))["success"]["partitionsSpec"]
    assert group["rootPath"] == "s3a://lake/orders"
    (of_partition,) = group["sharedSDPartitionSpec"]["partitions"]
    assert of_partition["relativePath"] == "/ds=1"
