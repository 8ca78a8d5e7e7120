"""Which partitions the names in a request mean."""

import json

import httpx
import pytest

from hive.thrift.binary import encode
from hive.thrift.statistics import COLUMN_STATISTICS_OBJ
from query_api.latest.log_end import LogEnd
from query_api.latest.row_effects import RowEffects
from state.records import Rows, Scope, ScopeKind
from state.records.actions import (
    AlterPartition,
    CreateTable,
    PutPartitions,
    PutPartitionStatistics,
)
from state.records.objects import ColumnStatisticsImage, fingerprint
from tests.query_api.http.read_client import EmptyDatabase, ask, get, grounds
from tests.query_api.http.warm_shards import ANY, TABLE
from tests.query_api.shards import (
    ORDERS,
    MemoryShard,
    MemoryShards,
    change,
    load,
    partition_image,
    table_image,
)

NAME, TURNED = "day=1/month=2", "month=2/day=1"
OTHERS = ("foo=1/bar=2", "day=1/day=2", "day=1", "day=1/month=2/hour=3", "month=1/day=3")
"""Names of no partition, though some have the values of one."""


def swapped() -> MemoryShards:
    """A table of two partitions whose values are each other's in the opposite order."""
    accurate = {"COLUMN_STATS_ACCURATE": '{"COLUMN_STATS":{"amount":"true"}}'}
    rows, statistics = [], []
    for lowest, values in ((10, ("1", "2")), (20, ("2", "1"))):
        rows.append(partition_image(*values))
        figures = {"longStats": {"lowValue": lowest, "highValue": 99, "numNulls": 0, "numDVs": 3}}
        column = {"colName": "amount", "colType": "bigint", "statsData": figures}
        data = encode(COLUMN_STATISTICS_OBJ, column)
        image = ColumnStatisticsImage(values, "hive", "amount", 0, 1, data)
        statistics.append(PutPartitionStatistics(ORDERS, 0, values, (image,), accurate, False))
    return MemoryShards(
        MemoryShard(
            change(1, CreateTable(table_image(managed=False, keys=("day", "month")))),
            change(2, PutPartitions(ORDERS, 0, tuple(rows), added=True)),
            *(change(event, action) for event, action in enumerate(statistics, 3)),
        )
    )


@pytest.mark.parametrize(
    "path",
    ["statistics?", f"partition-statistics?name={NAME}&", f"aggregate-statistics?name={NAME}&"],
)
@pytest.mark.parametrize("columns", ["column=Amount", "column=AMOUNT&column=amount"])
def test_a_column_is_the_same_in_any_spelling(path: str, columns: str) -> None:
    figures = {"longStats": {"lowValue": 5, "numNulls": 0, "numDVs": 3}}
    column = {"colName": "amount", "colType": "bigint", "statsData": figures}
    data = encode(COLUMN_STATISTICS_OBJ, column)
    rows = Rows(
        tables=(table_image(managed=False, keys=("day", "month")),),
        partitions=(partition_image("1", "2"),),
        statistics=tuple(
            ColumnStatisticsImage(values, "hive", "amount", 0, 1, data)
            for values in (None, ("1", "2"))
        ),
    )
    shards = MemoryShards(MemoryShard(change(1), *load(Scope(ScopeKind.TABLE, ORDERS), 1, rows)))

    urls = (f"{TABLE}/{path}{ANY}&{spelling}" for spelling in ("column=amount", columns))
    plain, spelled = get(shards, *urls)

    assert spelled.json() == plain.json()
    assert b'"lowValue":5' in spelled.content


@pytest.mark.parametrize("name", [NAME, TURNED, "MONTH=2/Day=1"])
def test_one_partition_is_the_one_whose_keys_have_these_values(name: str) -> None:
    log = LogEnd(0, 5, [(5, RowEffects())])
    paths = [f"{TABLE}/partitions/{name}?{ANY}"] * 3 + [f"{TABLE}/partitions/{name}"] * 2
    for response in get(swapped(), *paths, database=EmptyDatabase(log)):
        assert response.json()["values"] == ["1", "2"]
        assert grounds(response) == ("cache", "fresh")


def test_a_doubt_about_a_partition_counts_under_each_of_its_names() -> None:
    state, image = fingerprint(b"another state"), partition_image("1", "2", write_id=5)
    stale = AlterPartition(ORDERS, 0, ("1", "2"), state, image, truncates=False)
    shards, database = swapped(), EmptyDatabase(LogEnd(0, 5, []))
    shard = shards.shard(0)
    assert shard is not None
    shard.fold([change(5, stale)])
    paths = [f"{TABLE}/partitions/{name}?{ANY}" for name in (NAME, TURNED, "day=2/month=1")]
    *doubtful, sure = get(shards, *paths, database=database)
    assert [grounds(response) for response in doubtful] == [("database", "cold")] * 2
    assert grounds(sure) == ("cache", "fresh")


def test_names_with_other_keys_are_of_no_partition() -> None:
    paths = [f"{TABLE}/partitions/{name}?{ANY}" for name in OTHERS]
    for response in get(swapped(), f"{TABLE}/partitions/{NAME}?{ANY}", *paths, *paths)[1:]:
        assert response.status_code == 404
        assert grounds(response) == ("cache", "fresh")


@pytest.mark.parametrize(
    ("path", "nothing"),
    [
        ("partitions", {"partitions": [], "next": None}),
        ("partition-names", {"names": [], "next": None}),
        ("partition-count", {"count": 0}),
        ("partition-statistics", {"partStats": {}}),
        (
            "aggregate-statistics?column=amount",
            {"colStats": [], "missing": {"amount": ["statsData"]}},
        ),
    ],
)
def test_a_name_in_a_list_has_the_tables_keys_in_their_order(path: str, nothing: object) -> None:
    url = f"{TABLE}/{path}{'&' if '?' in path else '?'}{ANY}"

    async def asking(client: httpx.AsyncClient) -> None:
        named = await client.get(f"{url}&name={NAME}")
        assert named.json() != nothing
        for name in (TURNED, *OTHERS):
            for response in (
                await client.get(f"{url}&name={name}"),
                await client.post(url, json={"names": [name]}),
            ):
                assert response.json() == nothing, name
        if "aggregate" not in path:
            both = await client.post(url, json={"names": [*OTHERS, NAME, TURNED]})
            assert both.json() == named.json()

    ask(swapped(), asking)


@pytest.mark.parametrize(("path", "lines"), [("partitions", 1), ("partition-names", 1)])
def test_lines_are_of_the_named_ones_alone(path: str, lines: int) -> None:
    url = f"{TABLE}/{path}?{ANY}&name={TURNED}&name={NAME}"
    [response] = get(swapped(), url, headers={"Accept": "application/x-ndjson"})
    assert len(list(map(json.loads, response.content.splitlines()))) == lines


def test_names_may_be_spelled_with_less_escaped_than_they_are_stored() -> None:
    shard = MemoryShard(
        change(1, CreateTable(table_image(managed=False, keys=("at",)))),
        change(2, PutPartitions(ORDERS, 0, (partition_image("10:00"),), added=True)),
    )
    for name in ("at=10:00", "at=10%253A00", "AT=10:00"):
        listed, read = get(
            MemoryShards(shard),
            f"{TABLE}/partition-names?{ANY}&name={name}",
            f"{TABLE}/partitions/{name}?{ANY}",
        )
        assert listed.json()["names"] == ["at=10%3A00"]
        assert read.json()["values"] == ["10:00"]
