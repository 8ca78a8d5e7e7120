"""The cache and the database answer every question with the same bytes."""

from typing import Any

import pytest

from hive.errors import NoSuchObjectError
from hive.names import DatabaseName, TableName, partition_name
from hive.reader.snapshot import open_snapshot
from hive.thrift.binary import decode
from hive.thrift.structs import TABLE
from hive.thrift.view import PartitionView, TableView
from query_api.cached_objects import CachedObjects
from query_api.database import DatabaseObjects
from query_api.objects import Objects
from query_api.positions import Position
from query_api.reads import (
    CountPartitions,
    GetConstraints,
    GetDatabase,
    GetPartition,
    GetPartitionStatistics,
    GetTable,
    GetTables,
    GetTableStatistics,
    ListDatabases,
    ListPartitionNames,
    ListPartitions,
    ListTables,
    ListTablesOfAll,
    Page,
    Read,
    Slice,
)
from query_api.reads.partitions import PartitionSelection
from query_api.resolver.shard_facts import read_facts
from query_api.shards import Views
from query_api.targets import Target
from state.shard_reader import ShardReader
from tests.query_api.folded_world import World


class Both:
    """A question to both sides."""

    def __init__(self, world: World) -> None:
        self.views = Views(world.shards)
        self.reads_count = self.cold = 0

    def cached(self) -> CachedObjects:
        return CachedObjects(self.reader)

    def reader(self, target: Target) -> ShardReader:
        reader = self.views.reader(self.views.shard_of(target))
        assert reader is not None
        return reader

    def check(self, read: Read[Any], database: Objects) -> None:
        """Where the cache would serve at all, it says the same."""
        self.reads_count += 1
        same = without_write_id if isinstance(read, GetTable | GetTables) else plain
        stored = read.answer(database)
        shown = same(stored)
        assert same(stored) == shown, f"two who share the answer to {read} get different ones"
        if not self.serves(read):
            self.cold += 1
            return
        assert same(read.answer(self.cached())) == shown, read

    def serves(self, read: Read[Any]) -> bool:
        """Whether the cache would answer."""
        targets = (*read.targets, *read.further(self.cached()))
        facts = [read_facts(self.reader(target), target, with_ids=False) for target in targets]
        return not any(each.refused or each.silent for each in facts)


def plain(answer: Any) -> Any:
    """Without what only tells when the cache learned of it."""
    if isinstance(answer, Slice):
        items = list(answer.items)
        return [one._replace(event=0) if hasattr(one, "event") else one for one in items], (
            answer.next
        )
    return answer


def without_write_id(answer: Any) -> Any:
    """A table without its own write id: the demo stores what ALTER_TABLE carries, which a real
    metastore doesn't always."""
    if isinstance(answer, list):
        return [without_write_id(one) for one in answer]
    return {**decode(TABLE, answer), "writeId": None}


def partly_absent(keys: tuple[str, ...], names: list[Any]) -> PartitionSelection:
    """Some partitions by name: one that doesn't exist, one that is named twice, and one whose keys
    are in another order.
    """
    some = [partition_name(keys, values) for values in names[::3]]
    turned = [turned_name(keys, values) for values in names[1::3]]
    return PartitionSelection(
        names=(*some, partition_name(keys, ["absent" for _ in keys]), *some[:1], *turned)
    )


def turned_name(keys: tuple[str, ...], values: tuple[str, ...]) -> str:
    """A partition's name with its keys in the opposite order."""
    return partition_name(keys[::-1], values[::-1])


def check_selection(
    table: TableName, keys: tuple[str, ...], wanted: PartitionSelection, objects: Objects
) -> None:
    """The names and the number of selected partitions are those of the partitions themselves."""
    partitions = list(ListPartitions(table, wanted).answer(objects).items)
    names = [partition_name(keys, PartitionView(data).values) for data in partitions]
    assert list(ListPartitionNames(table, wanted).answer(objects).items) == names
    assert CountPartitions(table, wanted).answer(objects) == len(names)


def reads_of_table(table: TableName, keys: tuple[str, ...], names: list[Any]) -> list[Read[Any]]:
    some = tuple(names[::3])
    named = tuple(partition_name(keys, values) for values in some)
    partly = partly_absent(keys, names)
    reads: list[Read[Any]] = [
        GetTable(table),
        GetConstraints(table),
        GetTableStatistics(table),
        GetPartitionStatistics(table, named),
        GetTables((table, table._replace(table="no_such"))),
        ListPartitionNames(table),
        ListPartitions(table),
        ListPartitions(table, partly),
        ListPartitionNames(table, partly),
        ListPartitionNames(table, partly, page=Page(limit=1)),
        CountPartitions(table),
        CountPartitions(table, partly),
        ListPartitionNames(table, page=Page(limit=3)),
    ]
    for values in some:
        reads.append(GetPartition(table, keys, values))
        reads.append(ListPartitionNames(table, PartitionSelection(prefix=values[:1])))
        reads.append(ListPartitions(table, PartitionSelection(prefix=values[:1])))
        if len(keys) > 1:
            reads.append(ListPartitions(table, PartitionSelection(prefix=("", values[1]))))
        if values[0].isdecimal():
            for operator in ("=", ">="):
                wanted = PartitionSelection(filter=f"{keys[0]} {operator} {values[0]}")
                reads.append(ListPartitionNames(table, wanted))
        elif values[0].isalnum():
            reads.append(
                ListPartitionNames(table, PartitionSelection(filter=f"{keys[0]} = '{values[0]}'"))
            )
    return reads


def check_names(
    table: TableName, keys: tuple[str, ...], values: tuple[str, ...], objects: Objects
) -> None:
    """A name with the keys in another order is of the same partition where one is read, and of none
    in lists; other keys are of none.
    """
    turned, other = turned_name(keys, values), ("other", *keys[1:])
    partition = GetPartition(table, keys, values).answer(objects)
    assert PartitionView(partition).values == values
    assert GetPartition(table, keys[::-1], values[::-1]).answer(objects) == partition
    with pytest.raises(NoSuchObjectError, match=f"whose keys are: {', '.join(keys)}$"):
        GetPartition(table, other, values).answer(objects)
    for name in (turned, partition_name(other, values)):
        assert CountPartitions(table, PartitionSelection(names=(name,))).answer(objects) == 0
        assert (
            list(ListPartitions(table, PartitionSelection(names=(name,))).answer(objects).items)
            == []
        )
        assert GetPartitionStatistics(table, (name,)).answer(objects) == []


@pytest.fixture
def both(small_world: World) -> Both:
    return Both(small_world)


def test_both_sides_agree_on_everything_that_the_cache_tells(
    small_world: World, both: Both
) -> None:
    store = small_world.store
    with open_snapshot(store.engine, store.schema) as snapshot:
        database = DatabaseObjects(snapshot)
        assert database.event == small_world.current
        assert both.views.reached == Position(0, small_world.current)
        tables = 0
        for name, _ in database.databases("hive"):
            db = DatabaseName("hive", name)
            both.check(GetDatabase(db), database)
            both.check(ListTables(db), database)
            both.check(ListTables(db, "*a*|t*", ("MANAGED_TABLE",), Page(limit=4)), database)
            for line in list(database.names(db)):
                table = TableName("hive", name, line.table)
                data = database.table(table)
                assert data is not None
                keys = TableView(data).partition_keys
                names = sorted(database.partition_values(table, (), None)) if keys else []
                for wanted in (PartitionSelection(), partly_absent(keys, names)):
                    check_selection(table, keys, wanted, database)
                for read in reads_of_table(table, keys, names):
                    both.check(read, database)
                tables += 1
        both.check(ListDatabases("hive", "*"), database)
        both.check(ListTablesOfAll("hive", "*", "*a*|t*"), database)
    assert tables > 10
    assert both.reads_count > 300
    assert both.cold < both.reads_count / 2


def test_names_mean_the_keys_that_they_name_on_both_sides(small_world: World, both: Both) -> None:
    store = small_world.store
    with open_snapshot(store.engine, store.schema) as snapshot:
        database, cached = DatabaseObjects(snapshot), 0
        for name, _ in database.databases("hive"):
            for line in list(database.names(DatabaseName("hive", name))):
                table = TableName("hive", name, line.table)
                keys = TableView(database.table(table) or b"").partition_keys
                if len(keys) > 1:
                    for values in list(database.partition_values(table, (), None))[:3]:
                        check_names(table, keys, values, database)
                        if both.serves(ListPartitions(table)):
                            check_names(table, keys, values, both.cached())
                            cached += 1
    assert cached > 0
