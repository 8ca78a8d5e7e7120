"""What the toy metastore of `tests/model` brought to light, each as small as it got."""

import pytest

from hive.events import accuracy
from hive.names import DatabaseName
from hive.thrift.binary import decode, encode
from hive.thrift.structs import PARTITION
from hive.write_ids.lists import write_id_list
from processors.fold import Fold
from state import keys
from state.loads import Cold
from state.records import (
    AnyRecord,
    LoadBegin,
    LoadEnd,
    LoadRows,
    Reread,
    Reset,
    ResetTable,
    Rows,
    Scope,
    ScopeKind,
    SetLists,
)
from state.records.actions import (
    AbortTxn,
    AllocateWriteIds,
    AlterPartition,
    AlterTable,
    AnyAction,
    CommitTxn,
    CreateNames,
    CreateTable,
    DropTable,
    PutName,
    PutPartitionStatistics,
    PutTableStatistics,
    RenameTable,
    Side,
    Undecodable,
)
from state.records.objects import (
    ColumnStatisticsImage,
    NameImage,
    PartitionImage,
    TableImage,
    WriteIdsImage,
    fingerprint,
)
from state.shard_reader import ShardReader
from tests.processors.fold.shard import SCOPE, TABLE, Shard, add, change, image, load, partition

DB = DatabaseName(TABLE.catalog, TABLE.db)
IDS = Scope(ScopeKind.WRITE_IDS, TABLE)


def reader(shard: Shard) -> ShardReader:
    return ShardReader(shard.store.snapshot())


def alter_partition(before: bytes, after: bytes, new: str = "a") -> AlterPartition:
    written = PartitionImage((new,), 0, 1, after)
    return AlterPartition(TABLE, 0, ("a",), fingerprint(before), written, truncates=False)


def alter_table(*, rewrites: bool = False, truncates: bool = False) -> AlterTable:
    return AlterTable(image(b"new"), fingerprint(b"table"), rewrites, truncates)


def ids_load(lo: int, write_ids: WriteIdsImage) -> list[AnyRecord]:
    rows = Rows(write_ids=(write_ids,))
    return [
        LoadBegin(0, "ids", IDS),
        LoadRows(0, "ids", IDS, lo, 0, rows),
        LoadEnd(0, "ids", IDS, lo, lo, 1),
    ]


def test_alters_that_overtake_the_rows_of_a_load_are_folded_at_its_end() -> None:
    shard = Shard()
    begin, rows, end = load(10, "a")
    shard.fold(change(10, after=0), begin, change(11, alter_partition(b"p", b"q")), rows)
    shard.fold(change(12, alter_partition(b"q", b"r"), alter_table()), end)
    assert shard.cold() is None
    assert shard.partitions() == {"a": b"r"}
    row = reader(shard).table(TABLE)
    assert row is not None
    assert row.data == b"new"
    assert not list(shard.store.snapshot().scan(keys.DEFERRED, keys.DEFERRED + b"\xff"))


def test_an_alter_of_another_state_than_a_load_brought_is_not_believed_at_its_end() -> None:
    shard = Shard()
    begin, rows, end = load(10, "a")
    altered = change(11, alter_partition(b"other", b"q"))
    objects = Scope(ScopeKind.OBJECTS, TABLE)
    assert shard.fold(change(10, after=0), begin, altered, rows, end) == [objects]
    assert shard.cold() is None
    assert shard.doubtful() == {("a",)}
    assert shard.partitions() == {}


def test_parameters_that_overtake_the_row_of_a_load_are_set_at_its_end() -> None:
    shard = Shard()
    begin, _, end = load(10)
    stored = PartitionImage(("a",), 0, 1, encode(PARTITION, {"parameters": {"x": "1"}}))
    rows = LoadRows(0, "load", SCOPE, 10, 0, Rows(tables=(image(),), partitions=(stored,)))
    parameters = {"x": "1", accuracy.NAME: "{}"}
    put = PutPartitionStatistics(TABLE, 0, ("a",), (), parameters, False)
    shard.fold(change(10, after=0), begin, change(11, put), rows, end)
    assert shard.cold() is None
    assert decode(PARTITION, shard.partitions()["a"])["parameters"] == parameters


def test_a_partition_that_is_renamed_during_a_load_voids_it() -> None:
    shard = Shard()
    begin, rows, end = load(10, "a")
    renamed = change(11, alter_partition(b"p", b"p", new="b"))
    assert SCOPE in shard.fold(change(10, after=0), begin, renamed, rows, end)
    assert shard.cold() is Cold.DOUBT


def test_a_partition_that_is_renamed_during_a_load_is_not_kept_under_its_old_values() -> None:
    shard = Shard()
    abandoned, _, _ = load(1)
    renamed = change(4, alter_partition(b"p", b"p", new="b"))
    shard.fold(change(1, after=0), abandoned, change(2, CreateTable(image())))
    shard.fold(change(3, add("a")), renamed)
    scope = Scope(ScopeKind.TABLE, TABLE)
    rows = Rows(tables=(image(),), partitions=(PartitionImage(("b",), 0, 1, b"p"),))
    shard.fold(LoadBegin(0, "next", scope), LoadRows(0, "next", scope, 4, 0, rows))
    shard.fold(LoadEnd(0, "next", scope, 4, 4, 1))
    assert shard.cold() is None
    assert shard.partitions() == {"b": b"p"}


def test_a_truncation_during_a_load_casts_doubt_on_the_statistics_that_it_brings() -> None:
    shard = Shard()
    begin, _, end = load(10)
    column = ColumnStatisticsImage(None, "hive", "c", 0, 1, b"statistics")
    rows = LoadRows(0, "load", SCOPE, 10, 0, Rows(tables=(image(),), statistics=(column,)))
    shard.fold(change(10, after=0), begin, change(11, alter_table(truncates=True)), rows, end)
    state = shard.state()
    assert state is not None
    assert state.statistics_cold(11, 0) is Cold.DOUBT


def test_a_load_that_read_a_rewrite_survives_it() -> None:
    shard = Shard()
    shard.fold(change(11, after=0), *load(12, "a"), change(12, alter_table(rewrites=True)))
    assert shard.cold() is None
    assert shard.partitions() == {"a": b"p"}


def test_an_alter_that_a_load_had_read_is_no_conflict() -> None:
    shard = Shard()
    shard.fold(change(11, after=0), *load(12, "a"), change(12, alter_partition(b"o", b"p")))
    assert shard.cold() is None
    assert shard.partitions() == {"a": b"p"}


def test_events_that_an_ended_load_had_read_bring_nothing_back() -> None:
    shard = Shard()
    shard.fold(
        change(8, after=0), *load(10), change(9, add("gone")), change(10, Undecodable(TABLE))
    )
    assert shard.cold() is None
    assert shard.partitions() == {}


def test_rows_of_a_void_load_are_not_taken_for_a_created_table() -> None:
    shard = Shard()
    begin, rows, _ = load(12, "later")
    shard.fold(change(9, after=0), begin, rows, LoadEnd(0, "load", SCOPE, 12, 12, 2))
    shard.fold(change(10, CreateTable(image())))
    assert shard.cold() is Cold.DOUBT


def test_what_an_event_builds_on_doubtful_ground_is_not_told_alone() -> None:
    shard = Shard()
    shard.fold(change(1, CreateTable(image())), change(2, add("a")), change(3, Undecodable(TABLE)))
    shard.fold(change(4, alter_partition(b"p", b"q")), change(5, add("b")))
    state, view = shard.state(), reader(shard)
    built_on, whole = view.partition(TABLE, ("a",)), view.partition(TABLE, ("b",))
    assert state is not None
    assert built_on is not None
    assert whole is not None
    assert not state.loads.tells_alone(built_on.event, 0)
    assert state.loads.tells_alone(whole.event, 0)


def test_a_created_database_begins_without_the_names_of_an_earlier_one() -> None:
    shard = Shard()
    name = PutName(DB, NameImage("old", "T", "o", None, 1))
    shard.fold(change(1, name), change(7, CreateNames(DB), after=5))
    assert list(reader(shard).names(DB)) == []


def test_a_table_that_is_reset_at_the_event_of_its_creation_is_cold() -> None:
    shard = Shard()
    shard.fold(change(1, CreateTable(image())), ResetTable(0, 1, TABLE))
    assert shard.cold() is Cold.DOUBT


def test_lists_of_an_older_epoch_keep_nothing_of_a_newer_one_cold() -> None:
    shard = Shard()
    shard.fold(change(50, after=0), SetLists(0, 1, ("db.*",), ()), Reset(1, 20))
    shard.fold(change(21, CreateTable(image()), epoch=1))
    assert shard.cold() is None


def test_a_name_onto_which_a_table_was_renamed_keeps_the_id_that_a_load_read_later() -> None:
    shard = Shard()
    later = TableImage(TABLE, 9, 0, managed=False, partitioned=True, data=b"table")
    begin, _, end = load(15)
    rows = LoadRows(0, "load", SCOPE, 15, 0, Rows(tables=(later,)))
    renamed = RenameTable(TABLE._replace(table="u"), image(), Side.NEW)
    shard.fold(change(11, after=0), begin, rows, end, change(12, renamed))
    shard.fold(change(13, DropTable(TABLE)), change(14, CreateTable(later)), change(15))
    state = shard.state()
    assert state is not None
    assert shard.cold() is None
    assert state.id == 9


def test_a_table_that_is_gone_has_no_id() -> None:
    shard = Shard()
    begin, _, end = load(9)
    rows = LoadRows(0, "load", SCOPE, 9, 0, Rows())
    shard.fold(change(4, CreateTable(image()), after=0), begin, rows, end)
    state = shard.state()
    assert state is not None
    assert state.id == 0


@pytest.mark.parametrize(("end", "aborted"), [(CommitTxn(7, None), []), (AbortTxn(7), [1])])
def test_a_transaction_that_ends_during_the_only_load_is_not_open_after_it(
    end: AnyAction, aborted: list[int]
) -> None:
    shard = Shard()
    begin, *rest = ids_load(10, WriteIdsImage(1, ((7, 1),), ()))
    shard.fold(change(10, after=0), begin, change(11, end), *rest)
    ids = reader(shard).write_ids(TABLE)
    assert ids.cold is None
    assert ids.snapshot(str(TABLE)) == write_id_list(1, [], aborted, table=str(TABLE))


def test_a_load_brings_aborted_write_ids() -> None:
    shard = Shard()
    shard.fold(change(10, after=0), *ids_load(10, WriteIdsImage(3, ((7, 1),), (2,))))
    loaded = reader(shard).write_ids(TABLE).snapshot(str(TABLE))
    assert loaded == write_id_list(3, [1], [2], table=str(TABLE))


def test_write_ids_that_were_loaded_ahead_say_so() -> None:
    shard = Shard()
    shard.fold(change(1, CreateTable(image())), *ids_load(5, WriteIdsImage(1, (), ())))
    assert reader(shard).write_ids(TABLE).reflects == 5
    assert Fold(shard.store.transaction()).applied == 1


def test_what_was_dropped_before_a_load_is_pending_while_its_ids_are_open() -> None:
    shard = Shard()
    begin, _, end = load(10)
    ids = WriteIdsImage(1, ((7, 1),), ())
    rows = LoadRows(0, "load", SCOPE, 10, 0, Rows(tables=(image(),), write_ids=(ids,)))
    shard.fold(change(10, after=0), begin, rows, end)
    state = shard.state()
    assert state is not None
    assert state.is_pending(reader(shard).write_ids(TABLE))
    shard.fold(change(11, CommitTxn(7, None)), change(12, AllocateWriteIds(TABLE, (8,), (2,))))
    assert not state.is_pending(reader(shard).write_ids(TABLE))


def test_statistics_are_stored_while_another_partition_is_in_doubt() -> None:
    shard = Shard()
    before = {accuracy.NAME: '{"BASIC_STATS":"true"}'}
    analysed = PartitionImage(("b",), 0, 1, encode(PARTITION, {"parameters": before}))
    rows = Rows(tables=(image(),), partitions=(partition("a"), analysed))
    begin, _, end = load(5)
    shard.fold(change(5, after=0), begin, LoadRows(0, "load", SCOPE, 5, 0, rows), end)
    shard.fold(change(6, alter_partition(b"another", b"new")))
    assert shard.doubtful() == {("a",)}
    column = ColumnStatisticsImage(("b",), "hive", "c", 0, 1, b"figures", fields=1)
    parameters = {accuracy.NAME: '{"BASIC_STATS":"true","COLUMN_STATS":{"c":"true"}}'}
    shard.fold(change(7, PutPartitionStatistics(TABLE, 0, ("b",), (column,), parameters, False)))
    shard.fold(Reread(0, TABLE, 7, 7, (("a",),), Rows(partitions=(partition("a", b"new"),))))
    state = shard.state()
    assert state is not None
    assert state.statistics_cold(7, 0) is None
    [stored] = reader(shard).partition_statistics(TABLE, ("b",))
    assert stored.data == b"figures"


def test_statistics_without_a_write_id_put_a_transactional_partition_in_doubt() -> None:
    shard = Shard()
    written = PartitionImage(("a",), 3, 1, encode(PARTITION, {"writeId": 3}))
    begin, _, end = load(5)
    rows = Rows(tables=(image(),), partitions=(written,))
    shard.fold(change(5, after=0), begin, LoadRows(0, "load", SCOPE, 5, 0, rows), end)
    signals = shard.fold(change(6, PutPartitionStatistics(TABLE, 0, ("a",), (), {}, True)))
    assert signals == [Scope(ScopeKind.OBJECTS, TABLE), SCOPE]
    assert shard.doubtful() == {("a",)}


def test_statistics_that_follow_a_load_ahead_of_the_shard_are_stored() -> None:
    shard = Shard()
    shard.fold(change(5, after=0), *load(6, "a"))
    column = ColumnStatisticsImage(None, "hive", "c", 0, 1, b"figures", fields=1)
    shard.fold(change(7, PutTableStatistics(TABLE, 0, (column,), None), after=5))
    [stored] = reader(shard).table_statistics(TABLE)
    assert (stored.event, stored.data) == (7, b"figures")


def test_a_reset_ends_open_loads_and_what_is_as_new_as_it() -> None:
    shard = Shard()
    begin, rows, end = load(5, "a")
    shard.fold(change(5, after=0), *load(5, "wrong", id_="first"), begin)
    assert shard.fold(ResetTable(0, 5, TABLE)) == [SCOPE]
    assert shard.partitions() == {}
    shard.fold(rows, end)
    assert shard.cold() is Cold.DOUBT
    assert shard.fold(*load(5, "a", id_="third")) == []
    assert shard.partitions() == {"a": b"p"}
    assert shard.cold() is None


def test_a_reset_that_a_later_load_has_answered_changes_nothing() -> None:
    shard = Shard()
    shard.fold(change(6, after=0), *load(6, "a"))
    assert shard.fold(ResetTable(0, 5, TABLE)) == []
    assert shard.cold() is None


def test_a_dropped_table_asks_for_no_load() -> None:
    shard = Shard()
    shard.fold(change(5, after=0), *load(5, "a"))
    assert shard.fold(ResetTable(0, 5, TABLE, load=False)) == []
    assert shard.cold() is Cold.DOUBT
    assert shard.partitions() == {}


@pytest.mark.parametrize("hostile", [-1, -(1 << 63), 0, 1 << 62, (1 << 63) - 1])
def test_an_allocation_of_impossible_ids_makes_the_write_ids_cold(hostile: int) -> None:
    for txn, write_id in ((hostile, 1), (1, hostile)):
        shard = Shard()
        shard.fold(change(1, CreateTable(image())))
        signals = shard.fold(change(2, AllocateWriteIds(TABLE, (txn,), (write_id,))))
        assert signals == [IDS]
        assert reader(shard).write_ids(TABLE).cold is not None
        shard.fold(change(3, CommitTxn(txn, None)))
        assert shard.applied == 3
