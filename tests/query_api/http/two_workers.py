"""Shards that another worker has."""

from hive.names import DatabaseName, TableName, table_name
from state.records import AnyRecord
from state.records.actions import AnyAction, CreateNames, CreateTable, PutName
from state.records.routing import home_shard, table_shard
from tests.query_api.shards import (
    MemoryShard,
    MemoryShards,
    change,
    database_image,
    load_databases,
    name_image,
    table_image,
)

DBS = [DatabaseName("hive", name) for name in ("alpha", "beta", "gamma", "delta")]
TABLES = [table_name(None, db.db, f"t{number}") for db in DBS for number in range(2)]


def elsewhere(url: str) -> MemoryShards:
    """One shard, which the worker at that URL has."""
    shards = MemoryShards(None)
    shards.urls[0] = url
    return shards


def two() -> tuple[MemoryShards, MemoryShards]:
    """Two workers, each with one of two shards of the same databases and tables."""
    sources = []
    for mine in (0, 1):
        shards = MemoryShards(None, None)
        shards.shards[mine] = MemoryShard(
            *(
                change(event, CreateNames(db), after=0)
                for event, db in enumerate(DBS, 1)
                if home_shard(db, 2) == mine
            ),
            *(
                record
                for event, name in enumerate(TABLES, 10)
                for record in folded(event, name, mine)
            ),
            change(20 + mine, after=0),
            *load_databases(20 + mine, *map(database_image, DBS)),
        )
        sources.append(shards)
    first, other = sources
    return first, other


def folded(event: int, name: TableName, shard: int) -> list[AnyRecord]:
    home = DatabaseName(name.catalog, name.db)
    actions: list[AnyAction] = []
    if table_shard(name, 2) == shard:
        actions.append(CreateTable(table_image(name, managed=False)))
    if home_shard(home, 2) == shard:
        actions.append(PutName(home, name_image(name.table)))
    return [change(event, *actions, after=0)] if actions else []
