"""Statistics of several partitions as one."""

import pytest

from hive.thrift.binary import encode
from hive.thrift.statistics import COLUMN_STATISTICS_OBJ
from query_api.cached_objects import CachedObjects
from query_api.reads import AggregateStatistics
from state.records.actions import CreateTable, PutPartitions, PutPartitionStatistics
from state.records.objects import ColumnStatisticsImage
from tests.query_api.shards import ORDERS, MemoryShard, change, partition_image, table_image

WITH, WITHOUT = ("2026", "1"), ("2026", "2")
NAME_WITH = "year=2026/month=1"
COLUMN = {
    "colName": "amount",
    "colType": "bigint",
    "statsData": {"longStats": {"lowValue": 1, "highValue": 9, "numNulls": 5, "numDVs": 3}},
}


@pytest.fixture
def objects() -> CachedObjects:
    """Two partitions, of which one has statistics."""
    image = ColumnStatisticsImage(
        WITH, "hive", "amount", 0, 1, encode(COLUMN_STATISTICS_OBJ, COLUMN)
    )
    partitions = partition_image(*WITH), partition_image(*WITHOUT)
    accurate = {"COLUMN_STATS_ACCURATE": '{"COLUMN_STATS":{"amount":"true"}}'}
    reader = MemoryShard(
        change(1, CreateTable(table_image(managed=False, keys=("year", "month")))),
        change(2, PutPartitions(ORDERS, 0, partitions, added=True)),
        change(3, PutPartitionStatistics(ORDERS, 0, WITH, (image,), accurate, False)),
    ).reader()
    return CachedObjects(lambda _: reader)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_partition_that_is_named_more_than_once_counts_once(
    objects: CachedObjects, count: int
) -> None:
    aggregates = AggregateStatistics(ORDERS, (NAME_WITH,) * count, ("amount",)).answer(objects)
    statistics = aggregates["amount"].statistics
    assert statistics is not None
    assert statistics["statsData"]["longStats"]["numNulls"] == 5


@pytest.mark.parametrize(
    "other",
    ["year=2026/month=2", "year=2026/month=absent", "year=2026", "month=1/year=2026", "a=2026/b=1"],
)
def test_a_partition_without_statistics_leaves_the_whole_unknown(
    objects: CachedObjects, other: str
) -> None:
    for partitions in ((NAME_WITH, other), (other,)):
        aggregates = AggregateStatistics(ORDERS, partitions, ("amount",)).answer(objects)
        assert aggregates["amount"].statistics is None
