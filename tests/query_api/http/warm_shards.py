"""Shards with an external table that is warm, and the table's path."""

from state.records.actions import CreateNames, CreateTable, PutFunction, PutName, PutPartitions
from state.records.objects import FunctionImage
from tests.query_api.shards import (
    ORDERS,
    SALES,
    MemoryShard,
    MemoryShards,
    change,
    database_image,
    load_databases,
    name_image,
    partition_image,
    table_image,
)

TABLE = "/v1/databases/sales/tables/orders"
ANY = "consistency=any"
DAYS = tuple(f"2026-01-{day:02d}" for day in range(1, 29))
MARK = 0xABCD
"""The mark of the row of the last event."""


def warm(count: int = 1) -> MemoryShards:
    """One external table with partitions, and what its database tells."""
    rows = tuple(partition_image(day) for day in DAYS)
    shard = MemoryShard(
        change(1, CreateNames(SALES)),
        change(2, CreateTable(table_image(managed=False)), PutName(SALES, name_image("orders"))),
        change(3, PutPartitions(ORDERS, 0, rows, added=True)),
        change(4, PutFunction(SALES, FunctionImage("f", b"\0")), mark=MARK),
        *load_databases(4, database_image()),
    )
    return MemoryShards(*(shard for _ in range(count)))
