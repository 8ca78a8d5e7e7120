"""Statistics of several partitions, merged where it is certain what a metastore would tell."""

from math import nan
from typing import Any

import pytest

from hive.collation import BY_BYTES, UNKNOWN, Collation
from hive.reader.collation import of_mysql
from hive.thrift.binary import decode, encode
from hive.thrift.statistics import AGGR_STATS, COLUMN_STATISTICS_OBJ
from hive.thrift.types import Struct
from query_api.thrift.call import Relay, RelayReason
from state.records import Rows, Scope, ScopeKind
from state.records.objects import ColumnStatisticsImage
from tests.query_api.shards import (
    ORDERS,
    MemoryShard,
    MemoryShards,
    change,
    load,
    partition_image,
    table_image,
)
from tests.query_api.thrift.methods.cached_calls import cached, now, reason, statistics
from tests.query_api.thrift.methods.comparison import whole

PARTITIONS = ("1", "2")
RESULT = Struct("result", (0, "success", AGGR_STATS))
PRICES = [{"unscaled": number.to_bytes(4), "scale": 2} for number in (1_050, 2_025)]
COLUMNS: dict[str, list[dict[str, Any]]] = {
    "amount": [{"doubleStats": {"lowValue": low, "highValue": 9.0}} for low in (2.0, 1.0)],
    "price": [{"decimalStats": {"lowValue": price, "highValue": price}} for price in PRICES],
    "ratio": [{"doubleStats": {"lowValue": low, "highValue": 9.0}} for low in (nan, 1.0)],
}


def figures(value: str, column: str, data: dict[str, Any]) -> ColumnStatisticsImage:
    fields = {"colName": column, "colType": "t", "statsData": data}
    return ColumnStatisticsImage(
        (value,), "hive", column, 0, 1, encode(COLUMN_STATISTICS_OBJ, fields)
    )


@pytest.fixture(scope="module")
def source() -> MemoryShards:
    rows = Rows(
        tables=(table_image(managed=False),),
        partitions=tuple(map(partition_image, PARTITIONS)),
        statistics=tuple(
            figures(value, column, data)
            for column, parts in COLUMNS.items()
            for value, data in zip(PARTITIONS, parts, strict=True)
        ),
    )
    return MemoryShards(MemoryShard(change(1), *load(Scope(ScopeKind.TABLE, ORDERS), 1, rows)))


def merged(
    source: MemoryShards, column: str, collation: Collation = BY_BYTES
) -> dict[str, Any] | RelayReason:
    """What is told of a column; why not, if the metastore is to tell it."""
    names = [f"ds={value}" for value in PARTITIONS]
    question = statistics("get_aggr_stats_for", colNames=[column], partNames=names)
    cache = cached(source)
    cache.set_collation(collation)
    outcome = now(cache, question)
    if isinstance(outcome, Relay):
        assert isinstance(outcome.reason, RelayReason)
        return outcome.reason
    (of_column,) = decode(RESULT, whole(outcome))["success"]["colStats"]
    data: dict[str, Any] = of_column["statsData"]
    return data


def test_a_figure_that_is_not_a_number_is_left_to_metastores(source: MemoryShards) -> None:
    assert merged(source, "amount") == {"doubleStats": {"lowValue": 1.0, "highValue": 9.0}}
    assert merged(source, "ratio") is RelayReason.FORM


def test_a_partition_that_is_named_twice_is_left_to_metastores(source: MemoryShards) -> None:
    twice = statistics("get_aggr_stats_for", partNames=["ds=1", "ds=2", "ds=2"])
    assert reason(now(cached(source), twice)) is RelayReason.FORM


@pytest.mark.parametrize("collation", [of_mysql("utf8mb4_bin"), of_mysql("latin1_bin"), UNKNOWN])
def test_decimals_are_left_to_metastores_on_mysql(
    source: MemoryShards, collation: Collation
) -> None:
    """It casts them to whole numbers of ten digits."""
    low, high = PRICES
    assert merged(source, "price") == {"decimalStats": {"lowValue": low, "highValue": high}}
    assert merged(source, "price", collation) is RelayReason.STATISTICS
    assert merged(source, "amount", collation) == merged(source, "amount")
