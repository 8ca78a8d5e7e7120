"""What is answered after writers overlapped, against a real metastore.

The log is in the order of commits, and tells of each write what its writer believed.
"""

import copy
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.query_api.thrift.methods import caches
from tests.query_api.thrift.methods.writers import (
    World,
    Writer,
    partition_of,
    rename_partition,
    set_parameter,
    set_partition_parameter,
    set_partitions_parameter,
    truncate,
)
from tests.support.hive import hms_objects as objects
from tests.support.hive.hms_client import HmsClient
from tests.support.hive.metastore import Instances
from tests.support.hive.overlaps import overlap

pytestmark = [pytest.mark.hive, pytest.mark.by_turns(2, of="metastores")]


@pytest.fixture(scope="module")
def cache(metastore: Instances) -> Iterator[caches.Cache]:
    with caches.following(metastore.database_url) as following:
        yield following


@pytest.fixture
def world(metastore: Instances, cache: caches.Cache) -> Iterator[World]:
    with metastore.connect() as client:
        yield World(metastore, client, cache)


@pytest.mark.parametrize("statistics_first", [True, False])
def test_statistics_of_a_table_and_an_alter(world: World, statistics_first: bool) -> None:
    table = world.table("t")
    world.load()
    writes = [
        set_parameter(table, "k1"),
        lambda client: client.update_statistics(table, [objects.long_statistics("id")]),
    ]
    assert overlap(world.metastore, *writes[:: -1 if statistics_first else 1])[0] is None
    world.check()


@pytest.mark.parametrize("statistics_first", [True, False])
@pytest.mark.parametrize("set_parameter_of", [set_partition_parameter, set_partitions_parameter])
def test_statistics_of_a_partition_and_an_alter(
    world: World, set_parameter_of: Callable[..., Any], statistics_first: bool
) -> None:
    table = world.table("t", "a")
    partition = partition_of(world.client, table)
    world.load()
    writes = [
        set_parameter_of(table, partition, "k1"),
        lambda client: client.update_statistics(
            table, [objects.long_statistics("id")], partition="ds=a"
        ),
    ]
    assert overlap(world.metastore, *writes[:: -1 if statistics_first else 1])[0] is None
    world.check()


@pytest.mark.parametrize("loaded", [True, False])
def test_one_partition_is_altered_alone_and_among_several(world: World, loaded: bool) -> None:
    table = world.table("t", "a", "b")
    partition, same = (partition_of(world.client, table) for _ in range(2))
    if loaded:
        world.load()
    writes = [
        set_partition_parameter(table, partition, "k1"),
        set_partitions_parameter(table, same, "k2"),
    ]
    assert overlap(world.metastore, *writes) == [None, None]
    world.load() if not loaded else world.check()


def test_several_alters_of_partitions_in_turn_need_no_reread(world: World) -> None:
    world.load()
    table = world.table("t", "a", "b")
    for key in ("k1", "k2", "k3"):
        set_partitions_parameter(table, partition_of(world.client, table), key)(world.client)
    world.cache.follow()
    databases = {scope.name.db for shard in world.cache.memory for scope in shard.signals}
    assert world.db not in databases
    world.check()


@pytest.mark.parametrize("change", [set_parameter, None], ids=["alter", "drop"])
def test_a_table_is_changed_by_the_name_that_it_had(world: World, change: Any) -> None:
    table, stale = world.table("old"), None
    stale = world.client.table(world.db, "old")
    table.owner = "somebody"
    world.load()

    def rename(client: HmsClient) -> None:
        table.tableName = "new"
        client.alter_table(world.db, "old", table)

    def drop(client: HmsClient) -> None:
        client.rpc.drop_table(world.db, "old", False)

    stale.owner = "another"
    overlap(world.metastore, rename, drop if change is None else change(stale, "k1"))
    world.check()


@pytest.mark.parametrize("change", ["alter one", "alter some", "add", "drop"])
def test_a_partition_is_changed_by_the_name_that_its_table_had(world: World, change: str) -> None:
    table = world.table("old", "a", "b")
    stale = world.client.table(world.db, "old")
    partition = partition_of(world.client, table)
    world.load()

    def rename(client: HmsClient) -> None:
        table.tableName = "new"
        client.alter_table(world.db, "old", table)

    writes: dict[str, Callable[[HmsClient], object]] = {
        "alter one": set_partition_parameter(stale, partition, "k1"),
        "alter some": set_partitions_parameter(stale, partition, "k1"),
        "add": lambda client: client.add_partitions(stale, [["c"]]),
        "drop": lambda client: client.rpc.drop_partition(world.db, "old", ["b"], False),
    }
    overlap(world.metastore, rename, writes[change])
    world.check()


def test_two_alters_of_a_database(world: World) -> None:
    world.load()
    first, second = (world.client.rpc.get_database(world.db) for _ in range(2))
    first.parameters = {"k1": "new"}
    second.ownerName = "somebody"
    writes = [
        lambda client: client.rpc.alter_database(world.db, first),
        lambda client: client.rpc.alter_database(world.db, second),
    ]
    overlap(world.metastore, *writes)
    world.check()


@pytest.mark.parametrize("again", [True, False])
def test_statistics_of_a_partition_that_is_dropped(world: World, again: bool) -> None:
    table = world.table("t", "a", "b")
    figures = [objects.long_statistics("id", highValue=7)]
    world.client.update_statistics(table, figures, partition="ds=a")
    world.load()
    more = [objects.long_statistics("id", highValue=9)]
    writes: list[Callable[[HmsClient], object]] = [
        lambda client: client.rpc.drop_partition(world.db, "t", ["a"], False),
        lambda client: client.update_statistics(table, more, partition="ds=a"),
    ]
    if again:
        writes.insert(1, lambda client: client.add_partitions(table, [["a"]]))
    overlap(world.metastore, *writes)
    world.check()


@pytest.mark.parametrize("transactional", [True, False])
def test_statistics_of_many_partitions_keep_their_other_parameters(
    world: World, transactional: bool
) -> None:
    table = world.table("t", "a", "b", transactional=transactional)
    world.load()
    t = world.client.t
    statistics = [
        t.ColumnStatistics(
            statsDesc=t.ColumnStatisticsDesc(
                isTblLevel=False, dbName=world.db, tableName="t", partName=name, catName="hive"
            ),
            statsObj=[objects.long_statistics("id")],
            engine="hive",
        )
        for name in ("ds=a", "ds=b")
    ]
    request = t.SetPartitionsStatsRequest(colStats=statistics, needMerge=False)
    if transactional:
        writer = Writer(world.client, table)
        request.writeId, request.validWriteIdList = writer.write_id, writer.ids
    world.client.rpc.set_aggr_stats_for(request)
    world.check()


@pytest.mark.parametrize("properties", ["default", "insert_only"])
def test_concurrent_inserts_into_a_transactional_table(world: World, properties: str) -> None:
    """The metastore takes the accuracy of the second one away, and tells nobody."""
    parameters = {"transactional_properties": properties}
    table = world.table("t", transactional=True, parameters=parameters)
    world.load()
    first, second = Writer(world.client, table), Writer(world.client, table)
    first.insert(world.client.table(world.db, "t"), 1)
    world.check()
    second.insert(world.client.table(world.db, "t"), 2)
    world.check()
    for writer in (first, second):
        world.client.commit(writer.txn)
    world.check()


def test_statistics_that_are_merged_after_another_s_insert(world: World) -> None:
    """The metastore stores the id of the first one again, and tells nobody."""
    table = world.table("t", transactional=True)
    earlier = Writer(world.client, table)
    earlier.insert(table, 1)
    earlier.set_statistics(table, merges=False)
    world.client.commit(earlier.txn)
    world.load()
    first, second = Writer(world.client, table), Writer(world.client, table)
    for rows, writer in enumerate((first, second), start=2):
        writer.insert(world.client.table(world.db, "t"), rows)
    world.check()
    first.set_statistics(table, merges=True)
    for writer in (first, second):
        world.client.commit(writer.txn)
    assert world.client.table(world.db, "t").writeId == first.write_id
    world.check()
    assert world.cached_write_id("t") == first.write_id


@pytest.mark.parametrize("external", ["FALSE", "TRUE"])
def test_an_external_table_becomes_transactional(world: World, external: str) -> None:
    table = world.table("t", parameters={"COLUMN_STATS_ACCURATE": '{"BASIC_STATS":"true"}'})
    world.load()
    table.tableType = "MANAGED_TABLE"
    table.parameters = {**table.parameters, "transactional": "true", "EXTERNAL": external}
    world.client.alter_table(world.db, "t", table)
    world.check()


@pytest.mark.parametrize("other", ["b", ""], ids=["directly", "by its objects"])
def test_concurrent_inserts_into_partitions(world: World, other: str) -> None:
    """The metastore takes the accuracy of the second one away. Where it can't write the rows of all
    partitions at once, as if one has the empty value, its event doesn't say so.
    """
    table = world.table("t", "a", other, transactional=True)
    world.load()
    writers = [Writer(world.client, table) for _ in range(2)]
    for writer in writers:
        partitions = world.client.partitions(world.db, "t")
        for partition in partitions:
            partition.parameters = {
                **partition.parameters,
                "numRows": str(writer.write_id),
                "COLUMN_STATS_ACCURATE": '{"BASIC_STATS":"true"}',
            }
            partition.writeId = writer.write_id
        t = world.client.t
        request = t.AlterPartitionsRequest(
            dbName=world.db, tableName="t", partitions=partitions, writeId=writer.write_id
        )
        request.validWriteIdList = writer.ids
        world.client.rpc.alter_partitions_req(request)
        world.check()
    for writer in writers:
        world.client.commit(writer.txn)
    world.check()


def test_statistics_without_a_write_id_take_it_from_a_partition(world: World) -> None:
    table = world.table("t", "a", transactional=True)
    world.load()
    writer, partition = Writer(world.client, table), partition_of(world.client, table)
    partition.parameters = {**partition.parameters, "numRows": "1"}
    partition.writeId = writer.write_id
    t = world.client.t
    request = t.AlterPartitionsRequest(
        dbName=world.db, tableName="t", partitions=[partition], writeId=writer.write_id
    )
    request.validWriteIdList = writer.ids
    world.client.rpc.alter_partitions_req(request)
    world.client.commit(writer.txn)
    world.check()
    figures = [objects.long_statistics("id", highValue=7)]
    world.client.update_statistics(table, figures, partition="ds=a")
    world.check()


@pytest.mark.parametrize(
    "late", ["alters", "alter", "truncation", "truncation of all", "statistics", "drop"]
)
def test_a_partition_is_renamed_and_changed_by_its_old_name(world: World, late: str) -> None:
    table = world.table("t", "a", "b")
    partition = partition_of(world.client, table)
    world.load()
    writes = {
        "alters": set_partitions_parameter(table, copy.deepcopy(partition), "k1"),
        "alter": set_partition_parameter(table, copy.deepcopy(partition), "k1"),
        "truncation": truncate(table, "ds=a"),
        "truncation of all": truncate(table),
        "statistics": lambda client: client.update_statistics(
            table, [objects.long_statistics("id")], partition="ds=a"
        ),
        "drop": lambda client: client.rpc.drop_partition(world.db, "t", ["a"], False),
    }
    failures = overlap(world.metastore, rename_partition(table, partition, "n"), writes[late])
    assert failures[0] is None
    world.check()


def test_a_partition_of_a_transactional_table_is_renamed(world: World) -> None:
    table = world.table("t", "a", transactional=True)
    world.load()
    first, second = Writer(world.client, table), Writer(world.client, table)
    for writer, value in ((first, "b"), (second, "c")):
        partition = partition_of(world.client, table)
        old, partition.values = list(partition.values), [value]
        partition.parameters = {
            **partition.parameters,
            "COLUMN_STATS_ACCURATE": '{"BASIC_STATS":"true"}',
        }
        partition.writeId = writer.write_id
        world.client.rpc.rename_partition_req(
            world.client.t.RenamePartitionRequest(
                catName="hive",
                dbName=world.db,
                tableName="t",
                partVals=old,
                newPart=partition,
                validWriteIdList=writer.ids,
                txnId=writer.txn,
            )
        )
        world.check()


def test_a_rename_that_had_read_another_owner(world: World) -> None:
    """Lists of names show the owner, too."""
    table = world.table("old")
    stale = world.client.table(world.db, "old")
    world.load()
    table.owner = "somebody"
    stale.tableName = "new"

    def rename(client: HmsClient) -> None:
        client.alter_table(world.db, "old", stale)

    overlap(world.metastore, set_parameter(table, "k1"), rename)
    world.check()


def test_two_alters_of_what_lists_show(world: World) -> None:
    table = world.table("t")
    stale = world.client.table(world.db, "t")
    world.load()
    table.owner = "somebody"
    overlap(world.metastore, set_parameter(table, "k1"), set_parameter(stale, "comment"))
    world.check()


@pytest.mark.parametrize("write_id", [-1, 0, 1])
@pytest.mark.parametrize("set_parameter_of", [set_partition_parameter, set_partitions_parameter])
def test_a_partition_is_altered_as_it_was_before_a_write(
    world: World, set_parameter_of: Callable[..., Any], write_id: int
) -> None:
    """The metastore keeps the write id of that write."""
    table = world.table("t", "a", transactional=True)
    first, second = Writer(world.client, table), Writer(world.client, table)
    first.alter(table, partition_of(world.client, table), "k1")
    world.load()
    outdated = partition_of(world.client, table)
    outdated.writeId = write_id
    second.alter(table, partition_of(world.client, table), "k2")
    set_parameter_of(table, outdated, "k3")(world.client)
    assert partition_of(world.client, table).writeId == second.write_id
    world.check()
