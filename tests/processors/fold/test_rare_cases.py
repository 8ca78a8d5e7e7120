"""What random histories rarely reach: limits, and events that are late, alone or hanging."""

import pytest

from hive.names import DatabaseName
from hive.thrift.binary import encode
from hive.thrift.structs import PARTITION
from hive.write_ids.lists import write_id_list
from processors.fold import deferred_events, shard, write_ids
from state import keys
from state.loads import Cold, Doubt
from state.records import (
    LoadBegin,
    OpenTransactions,
    Scope,
    ScopeKind,
    databases_scope,
    names_scope,
)
from state.records.actions import (
    AllocateWriteIds,
    CommitTxn,
    CreateNames,
    CreateTable,
    DropDatabase,
    DropPartitions,
    Misnamed,
    PutDatabase,
    PutName,
)
from state.records.objects import (
    ColumnStatisticsImage,
    DatabaseImage,
    NameImage,
    TableImage,
    WriteIdsImage,
)
from tests.processors.fold.shard import (
    IDS,
    SCOPE,
    TABLE,
    Shard,
    add,
    change,
    drop,
    image,
    load,
    managed,
    partition,
    reader,
    statistics,
    whole,
    written,
)

DB = DatabaseName(TABLE.catalog, TABLE.db)


def test_an_alter_of_another_database_than_ours_is_not_believed() -> None:
    shard = Shard()
    first, second = DatabaseImage(DB, b"first"), DatabaseImage(DB, b"second")
    shard.fold(change(3, after=0), *whole(databases_scope(DB.catalog), 3, databases=(first,)))
    altered = PutDatabase(second, altered=True, before=12345)
    assert shard.fold(change(4, altered)) == [databases_scope(DB.catalog)]
    loads = reader(shard).databases_loads(DB.catalog)
    assert loads is not None
    assert loads.doubt is Doubt.CONFLICT


def test_names_of_a_dropped_database_that_an_open_load_brings_are_kept_out() -> None:
    shard = Shard()
    names = (NameImage("t", "T", "o", None, 1),)
    begin, *rest = whole(names_scope(DB), 5, names=names)
    shard.fold(change(5, CreateNames(DB), after=0), begin, change(6, DropDatabase(DB)), *rest)
    assert list(reader(shard).names(DB)) == []
    loads = reader(shard).names_loads(DB)
    assert loads is not None
    assert loads.cold(6, 0) is Cold.DOUBT
    assert loads.doubt is Doubt.DROPPED


def test_names_that_a_load_read_after_a_drop_are_of_the_next_database() -> None:
    shard = Shard()
    names = (NameImage("t", "T", "o", None, 1),)
    shard.fold(change(5, after=0), *whole(names_scope(DB), 9, names=names))
    shard.fold(change(6, DropDatabase(DB)), change(7, CreateNames(DB)), change(9, after=7))
    assert [line.table for line in reader(shard).names(DB)] == ["t"]
    loads = reader(shard).names_loads(DB)
    assert loads is not None
    assert loads.cold(9, 0) is None


def test_a_name_without_a_type_may_change_silently() -> None:
    shard = Shard()
    shard.fold(change(1, CreateNames(DB)), change(2, PutName(DB, NameImage("t", "", "o", None, 1))))
    loads = reader(shard).names_loads(DB)
    assert loads is not None
    assert loads.silent_at == 2
    shard.fold(*whole(names_scope(DB), 3, names=(NameImage("u", "", "o", None, 1),)))
    loads = reader(shard).names_loads(DB)
    assert loads is not None
    assert loads.silent_at == 3


def test_an_altered_name_that_stays_as_it_is_held_is_believed() -> None:
    shard = Shard()
    own, other = NameImage("t", "T", "ann", None, 1), NameImage("t", "T", "bob", None, 1)
    shard.fold(change(1, CreateNames(DB)), change(2, PutName(DB, own)))
    # Its writer had read another line, but writes the one that is held.
    assert shard.fold(change(3, PutName(DB, own, altered=True, before=other))) == []
    assert [line.owner for line in reader(shard).names(DB)] == ["ann"]


def test_an_altered_name_from_another_database_is_not_believed() -> None:
    """Nothing says which line its writer had read."""
    shard, held = Shard(), NameImage("t", "T", "ann", None, 1)
    shard.fold(change(1, CreateNames(DB)), change(2, PutName(DB, held)))
    assert shard.fold(change(3, PutName(DB, held, altered=True))) == [names_scope(DB)]
    assert list(reader(shard).names(DB)) == []


@pytest.mark.parametrize("is_held", [True, False])
def test_an_old_name_of_a_table_whose_statistics_may_have_changed(is_held: bool) -> None:
    shard = Shard()
    if is_held:
        shard.fold(change(1, CreateTable(image())))
    signals = shard.fold(change(2, Misnamed(TABLE, hanging=True), after=0))
    assert signals == ([SCOPE] if is_held else [])
    assert (shard.state() is not None) == is_held


def test_a_load_that_too_many_events_overtake_is_void(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deferred_events, "DEFERRED_MAX", 2)
    waiting = Shard()
    begin, rows, end = load(1, "a")
    waiting.fold(change(1), begin, *(statistics(event, 0b1) for event in (2, 3, 4)))
    waiting.fold(rows, end)
    assert waiting.cold() is Cold.DOUBT


def test_an_old_drop_leaves_what_is_newer() -> None:
    late = Shard()
    begin, *rest = load(1, "a")
    late.fold(change(1), begin, change(9, add("b"), after=1))
    late.fold(*rest)
    assert late.partitions() == {"a": b"p", "b": b"p"}
    late.fold(change(10, DropPartitions(TABLE, (("a",),))), change(11, drop("b")))
    assert late.partitions() == {}


def test_statistics_of_the_next_partition_stay_when_the_one_before_it_is_dropped() -> None:
    behind = Shard()
    column = ColumnStatisticsImage(("a",), "hive", "c", 0, 1, b"s", 0b110)
    rows = {"tables": (image(),), "partitions": (partition("a"),), "statistics": (column,)}
    begin, *rest = whole(SCOPE, 9, **rows)
    behind.fold(begin, rest[0], change(5, drop("a"), after=0), rest[1], change(9, after=5))
    assert behind.partitions() == {"a": b"p"}
    key = keys.partition_statistics(TABLE, ("a",), "hive", "c")
    assert behind.store.snapshot().get(key) is not None


def test_a_row_of_a_table_whose_drop_was_not_told_says_nothing_of_the_next() -> None:
    shard = Shard()
    begin, rows, end = load(3)
    following = TableImage(TABLE, 8, 0, managed=False, partitioned=False, data=b"next")
    shard.fold(begin, change(5, CreateTable(following), after=0), rows, end)
    entry, state = reader(shard).table(TABLE), shard.state()
    assert entry is not None
    assert state is not None
    assert (entry.data, state.id, state.partitioned) == (b"next", 8, False)


def test_a_load_of_objects_alone_is_no_load() -> None:
    untouched = Shard()
    untouched.fold(LoadBegin(0, "load", Scope(ScopeKind.OBJECTS, TABLE)))
    assert untouched.state() is None


@pytest.mark.parametrize("value", ["b", "a"], ids=["of another partition", "of this one"])
def test_statistics_of_a_partition_that_is_not_there(value: str) -> None:
    incomplete = Shard()
    incomplete.fold(
        change(1, CreateTable(image())),
        change(2, add(value, data=encode(PARTITION, {}))),
        statistics(3, 0b1),
    )
    assert incomplete.doubtful() == (set() if value == "a" else {keys.named_values(("a",))})


def test_many_tables_are_forgotten_between_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shard, "DECODED_MAX", 0)
    small, usual = Shard(), Shard()
    records = [change(1, CreateTable(image())), change(2, add("a")), change(3, drop("a"), add("b"))]
    small.fold(*records)
    monkeypatch.undo()
    usual.fold(*records)
    assert small.partitions() == usual.partitions() == {"b": b"p"}
    assert small.cold() is None


def test_more_pending_ids_than_are_kept_end_with_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write_ids, "PENDING_MAX", 2)
    busy = Shard()
    busy.fold(change(1, CreateTable(managed())))
    for number in range(1, 5):
        busy.fold(change(2 * number, AllocateWriteIds(TABLE, (number,), (number,))))
        busy.fold(change(2 * number + 1, written(number, str(number))))
    state = busy.state()
    assert state is not None
    assert (state.pending, state.pending_upto) == ([4], 3)


def test_a_write_with_an_id_that_nobody_allocated_asks_for_the_ids() -> None:
    surprised = Shard()
    created = AllocateWriteIds(TABLE, (1,), (1,))
    surprised.fold(change(1, CreateTable(managed())), change(2, created))
    assert surprised.fold(change(3, written(9))) == [IDS]
    assert reader(surprised).write_ids(TABLE).cold is not None
    assert surprised.fold(change(4, written(9, "b"))) == [], "they are asked for once"


@pytest.mark.parametrize("ended_max", [0, 1])
def test_an_end_that_is_not_kept_leaves_its_ids_open_until_they_are_compared(
    ended_max: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(write_ids, "ENDED_MAX", ended_max)
    full = Shard()
    begin, *rest = whole(IDS, 10, write_ids=(WriteIdsImage(1, ((7, 1),), ()),))
    full.fold(change(10, after=0), begin, change(11, CommitTxn(7, None)), *rest)
    ids = reader(full).write_ids(TABLE)
    assert ids.snapshot(str(TABLE)) == write_id_list(1, [] if ended_max else [1], table=str(TABLE))
    signals = full.fold(OpenTransactions(0, 11, ()))
    assert signals == ([] if ended_max else [IDS])
    assert full.floors == ({} if ended_max else {IDS: 11})
