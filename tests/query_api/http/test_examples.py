"""The worked examples of the write-id check, literally, through HTTP."""

import pytest

from query_api.latest.log_end import LogEnd
from state.records.actions import AllocateWriteIds, AnyAction, CommitTxn, CreateTable
from tests.query_api.http.read_client import EmptyDatabase, get, grounds
from tests.query_api.shards import (
    ORDERS,
    ORDERS_ID,
    MemoryShard,
    MemoryShards,
    change,
    table_image,
)

EVENT = 50
TABLE = "/v1/databases/sales/tables/orders"


def holding(hwm: int, *open_ids: int) -> MemoryShards:
    """A table in which transactions took these write ids; those of the open ones are left."""
    actions: list[AnyAction] = [CreateTable(table_image())]
    actions += [AllocateWriteIds(ORDERS, (100 + id_,), (id_,)) for id_ in range(1, hwm + 1)]
    actions += [CommitTxn(100 + id_, None) for id_ in range(1, hwm + 1) if id_ not in open_ids]
    changes = [change(event, action) for event, action in enumerate(actions, 1)]
    return MemoryShards(MemoryShard(*changes, change(EVENT, after=len(actions))))


@pytest.mark.parametrize(
    ("requested", "cached", "source", "reason"),
    [
        ("[12:7,8,12]", (11, 7, 8), "cache", "fresh"),
        ("[12:7,8,12]", (12, 7, 12), "database", "ahead"),
        ("[13:7,8,13]", (12, 7, 8), "cache", "fresh"),
        ("[13:7,8,12]", (12, 7, 8), "database", "behind"),
        ("[13:7,8,12]", (12, 7), "database", "behind"),
        ("sales.orders:12:7:7,8,12", (11, 7, 8), "cache", "fresh"),
        ("sales.orders:5:3:3,4", (5, 5), "database", "behind"),
    ],
)
@pytest.mark.parametrize("path", ["", "/partitions", "/partition-names", "/constraints"])
def test_the_worked_examples(
    requested: str, cached: tuple[int, ...], source: str, reason: str, path: str
) -> None:
    url = f"{TABLE}{path}?table_id={ORDERS_ID}&write_ids={requested}"
    database = EmptyDatabase(LogEnd(0, 51, []))
    [response] = get(holding(*cached), url, database=database)
    assert grounds(response) == (source, reason)
    assert response.status_code == (200 if source == "cache" else 404)
    assert response.headers["metatide-position"] == ("0:50" if source == "cache" else "0:51")


def test_a_newer_cache_is_accepted_where_the_caller_says_so() -> None:
    url = f"{TABLE}?table_id={ORDERS_ID}&write_ids=[12:7,8,12]&accept_newer=true"
    [response] = get(holding(12, 7, 12), url)
    assert grounds(response) == ("cache", "newer")


def test_the_same_requirement_by_headers() -> None:
    headers = {"Metatide-Write-Ids": "[12:7,8,12]", "Metatide-Table-Id": str(ORDERS_ID)}
    [response] = get(holding(11, 7, 8), TABLE, headers=headers)
    assert grounds(response) == ("cache", "fresh")


def test_a_list_for_another_table_of_the_name_is_a_miss() -> None:
    database = EmptyDatabase(LogEnd(0, 51, []))
    [response] = get(holding(3), f"{TABLE}?table_id=99&write_ids=[3:]", database=database)
    assert grounds(response) == ("database", "table_id")


def test_the_check_without_a_list_is_refused_for_tables_with_write_ids() -> None:
    [response] = get(holding(3), f"{TABLE}?consistency=write_ids")
    assert response.status_code == 400
    assert response.headers["content-type"] == "application/problem+json"
    assert "pass write_ids and a positive table_id" in response.json()["detail"]
