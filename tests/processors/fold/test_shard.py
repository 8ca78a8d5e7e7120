"""Intervals, epochs, parts and idempotence, on small hand-made topics."""

import msgspec
import pytest

from connectors.publish.publisher import FENCE
from hive.names import DEFAULT_PARTITION
from state import digest, entries, keys, shard_head
from state.loads import Cold
from state.records import (
    AnyRecord,
    Change,
    LoadBegin,
    LoadEnd,
    LoadRows,
    Pause,
    Reset,
    Rows,
    Scope,
    ScopeKind,
    SetLists,
    Skip,
)
from state.records.actions import (
    AllocateWriteIds,
    AlterTable,
    CommitTxn,
    CreateTable,
    DropTable,
    PutPartitions,
    Undecodable,
)
from state.records.epochs import EPOCH_JUMP_MAX
from state.records.numbers import NATURAL_MAX
from state.records.objects import fingerprint
from state.records.parts import split
from state.shard_head import ShardHead
from state.store import StorePosition
from tests.processors.fold.shard import (
    SCOPE,
    TABLE,
    Shard,
    add,
    change,
    drop,
    image,
    load,
    partition,
)


@pytest.fixture
def shard() -> Shard:
    return Shard()


def test_a_created_table_is_warm_and_grows_with_its_events(shard: Shard) -> None:
    shard.fold(change(1, CreateTable(image())), change(2, add("a", "b")), change(3, drop("a")))
    assert shard.cold() is None
    assert shard.partitions() == {"b": b"p"}


def test_a_record_that_is_folded_again_changes_nothing(shard: Shard) -> None:
    shard.fold(change(1, CreateTable(image())), change(2, add("a")), change(3, drop("a")))
    shard.fold(change(2, add("a")), change(1, CreateTable(image())))
    assert shard.partitions() == {}
    assert shard.applied == 3


def test_an_interval_that_overlaps_is_folded_and_a_hole_makes_everything_cold(shard: Shard) -> None:
    shard.fold(change(1, CreateTable(image())), change(4, add("a"), after=0))
    assert shard.cold() is None
    assert shard.fold(change(9, add("b"), after=7)) == [SCOPE]
    assert shard.cold() is Cold.BROKEN_CHAIN
    assert shard.applied == 9


def test_progress_moves_the_position_alone(shard: Shard) -> None:
    shard.fold(change(5, after=0))
    assert shard.applied == 5


def test_an_older_epoch_is_ignored_and_a_newer_one_begins_empty(shard: Shard) -> None:
    shard.fold(change(8, CreateTable(image()), after=0))
    assert shard.fold(Reset(1, 3)) == [], "nobody has read it yet"
    assert shard.state() is None
    shard.fold(change(9, add("late"), epoch=0), change(4, CreateTable(image()), epoch=1))
    assert shard.applied == 4
    assert shard.cold() is None
    shard.fold(Reset(1, 2))
    assert shard.applied == 4


def test_a_skipped_record_leaves_nothing_and_nothing_is_served(shard: Shard) -> None:
    shard.fold(Pause(0, 4, paused=False), change(8, CreateTable(image()), add("a"), after=0))
    shard.skip()
    assert (shard.applied, shard.head.floor, shard.head.lists_floor) == (8, 8, 8)
    assert shard.state() is None
    assert shard.partitions() == {}
    assert shard.head.paused
    shard.fold(Pause(0, 4, paused=False))
    assert shard.head.paused, "that was decided before"
    shard.fold(Pause(0, 5, paused=False))
    assert not shard.head.paused


def test_a_skipped_record_leaves_loads_that_began_after_it(shard: Shard) -> None:
    shard.fold(change(8, CreateTable(image()), after=0), LoadBegin(0, "before", SCOPE))
    shard.skip()
    rows = Rows(tables=(image(),), partitions=(partition("a"),))
    shard.fold(LoadRows(0, "before", SCOPE, 8, 0, rows), LoadEnd(0, "before", SCOPE, 8, 8, 1))
    assert shard.state() is None
    shard.fold(LoadBegin(0, "after", SCOPE), LoadRows(0, "after", SCOPE, 8, 0, rows))
    shard.fold(LoadEnd(0, "after", SCOPE, 8, 8, 1))
    assert shard.cold() is None


def test_an_event_that_was_skipped_shows_in_the_next_one(shard: Shard) -> None:
    """A load may have begun after the skipped record and yet have read an older event."""
    shard.fold(change(8, CreateTable(image()), after=0))
    shard.skip()
    shard.fold(LoadBegin(0, "one", SCOPE), LoadRows(0, "one", SCOPE, 8, 0, Rows((image(),))))
    shard.fold(LoadEnd(0, "one", SCOPE, 8, 8, 1))
    assert shard.fold(change(20, after=12)) == [SCOPE]
    assert shard.cold() is Cold.BROKEN_CHAIN
    assert shard.head.renames_floor == 12


@pytest.mark.parametrize("values", [(), ("a",)])
def test_a_load_that_has_read_less_than_one_before_it_does_not_count(
    shard: Shard, values: tuple[str, ...]
) -> None:
    """The database has gone back: what the first load left belongs to a lost history."""
    begin, rows, _ = load(10, "a", "lost", id_="killed")
    shard.fold(change(8, CreateTable(image()), after=0), begin, rows)
    again = load(9, *values, id_="again", data=b"new")
    assert shard.fold(*(again if values else (again[0], LoadEnd(0, "again", SCOPE, 9, 9, 0)))) == [
        SCOPE
    ]
    shard.fold(change(10))
    assert shard.cold() is Cold.DOUBT
    shard.fold(change(11), *load(11, "a", id_="last", data=b"new"))
    assert shard.cold() is None
    assert shard.partitions() == {"a": b"new"}


@pytest.mark.parametrize("deletion", [drop("a"), DropTable(TABLE)])
def test_a_load_of_a_database_that_is_behind_brings_nothing_back(
    shard: Shard, deletion: object
) -> None:
    """A replica that lags behind what was folded before the load began."""
    shard.fold(change(5, after=0), *load(5, "a", id_="first"), change(8, deletion))
    assert shard.fold(*load(7, "a", id_="behind")) == [SCOPE]
    assert shard.cold() is Cold.DOUBT
    assert shard.partitions() == {}
    shard.fold(*load(8, "b", id_="last"))
    assert shard.cold() is None
    assert shard.partitions() == {"b": b"p"}


def test_a_hole_after_a_skipped_record_may_hold_renames(shard: Shard) -> None:
    shard.skip()
    assert shard.head.renames_floor == 0
    shard.fold(change(9, after=5))
    assert shard.head.renames_floor == 5


def test_an_order_to_skip_changes_nothing_where_it_stands(shard: Shard) -> None:
    shard.fold(change(8, CreateTable(image()), after=0))
    before = digest.exact(shard.store.snapshot())
    assert shard.fold(Skip(0, 0, 100), Skip(9, 0, NATURAL_MAX)) == []
    assert digest.exact(shard.store.snapshot()) == before


@pytest.mark.parametrize(
    "forged", [Reset(1 << 62, 3), Reset(EPOCH_JUMP_MAX + 1, 1 << 62), change(9, epoch=1 << 62)]
)
def test_an_epoch_that_no_connector_can_have_begun_changes_nothing(
    shard: Shard, forged: AnyRecord
) -> None:
    shard.fold(change(8, CreateTable(image()), after=0))
    assert shard.fold(forged) == []
    shard.fold(change(9, add("a")))
    assert (shard.head.epoch, shard.applied, shard.cold()) == (0, 9, None)
    assert shard.partitions() == {"a": b"p"}
    shard.fold(Reset(EPOCH_JUMP_MAX, 3))
    assert (shard.head.epoch, shard.applied) == (EPOCH_JUMP_MAX, 3)


def test_a_shard_in_an_epoch_that_no_connector_can_have_begun_leaves_it(shard: Shard) -> None:
    txn = shard.store.transaction()
    txn.put(keys.HEAD, shard_head.encode(ShardHead(epoch=1 << 62, applied=1 << 40)))
    shard.store.commit(txn, StorePosition(1 << 62, 1 << 40))
    shard.fold(change(8, CreateTable(image()), after=7, epoch=3))
    assert (shard.head.epoch, shard.applied, shard.cold()) == (3, 8, None)


def test_parts_are_folded_with_the_last_one(shard: Shard) -> None:
    big = PutPartitions(
        TABLE, 0, tuple(partition(f"{n:05}", b"x" * 1000) for n in range(5000)), added=True
    )
    parts = split(change(2, big))
    assert len(parts) > 3
    shard.fold(change(1, CreateTable(image())), *parts[:-1])
    assert shard.partitions() == {}
    assert shard.applied == 1
    shard.fold(parts[0], *parts[-2:])
    assert len(shard.partitions()) == 5000
    assert shard.applied == 2
    assert not list(shard.store.snapshot().scan(keys.PART, keys.PART + b"\xff"))


def test_the_last_of_more_parts_than_anybody_sends_ends_at_the_first_that_is_missing(
    shard: Shard,
) -> None:
    parts = (1 << 32) - 1
    shard.fold(Change(0, 0, 1, (), parts - 1, parts))
    assert shard.applied == 0


def test_the_mark_of_the_last_row_stays_until_another_is_applied(shard: Shard) -> None:
    def marked(record: Change, mark: int) -> Change:
        return msgspec.structs.replace(record, mark=mark)

    big = add(*(f"{n:05}" for n in range(40_000)))
    first, *rest = split(marked(change(2, big), 22))
    steps: list[tuple[AnyRecord, int]] = [
        (marked(change(1, CreateTable(image())), 11), 11),
        (LoadBegin(0, "load", Scope(ScopeKind.TABLE, TABLE)), 11),
        (first, 11),
        *((part, 22 if part is rest[-1] else 11) for part in rest),
        (marked(change(1), 33), 22),
        (change(3), 0),
        (marked(change(9, after=8), 99), 99),
        (Reset(1, 5, 55), 55),
        (Reset(2, 5), 0),
        (msgspec.structs.replace(first, epoch=3), 0),
    ]
    for record, mark in steps:
        shard.fold(record)
        assert shard.head.mark == mark


def test_a_last_part_without_the_others_waits_for_them(shard: Shard) -> None:
    big = add(*(f"{n:05}" for n in range(40_000)))
    first, *rest = split(change(1, big))
    shard.fold(*rest)
    assert shard.applied == 0
    shard.fold(first, *rest)
    assert len(shard.partitions()) == 40_000


def test_a_partition_is_dropped_by_the_name_that_an_empty_value_has(shard: Shard) -> None:
    shard.fold(change(1, add("")))
    assert list(shard.partitions()) == [DEFAULT_PARTITION]
    shard.fold(change(2, drop(DEFAULT_PARTITION)))
    assert not shard.partitions()


@pytest.mark.parametrize("position", range(4))
def test_a_load_may_come_at_any_place_among_the_events_after_it(position: int) -> None:
    shard = Shard()
    events: list[AnyRecord] = [
        change(11, add("c")),
        change(12, drop("a")),
        change(13, drop("c"), add("d")),
    ]
    begin, rows, end = load(10, "a", "b")
    shard.fold(change(10, after=0), begin, *events[:position], rows, *events[position:], end)
    assert shard.cold() is None
    assert shard.partitions() == {"b": b"p", "d": b"p"}
    assert not [
        value for _, value in shard.store.snapshot().scan(b"p", b"q") if not entries.is_live(value)
    ]


def test_a_load_ahead_of_the_shard_is_warm_when_the_shard_is_there(shard: Shard) -> None:
    shard.fold(*load(12, "b", hi=12), change(11, add("a"), after=0))
    assert shard.cold() is Cold.AHEAD
    shard.fold(change(12, drop("a")))
    assert shard.cold() is None
    assert shard.partitions() == {"b": b"p"}


def test_a_load_sweeps_what_it_does_not_bring(shard: Shard) -> None:
    shard.fold(change(1, add("gone", "kept")), change(9, after=1), *load(9, "kept"))
    assert shard.partitions() == {"kept": b"p"}


def test_a_hidden_rewrite_during_a_load_voids_it(shard: Shard) -> None:
    begin, rows, end = load(10, "a")
    rewrite = change(
        11, AlterTable(image(b"new"), fingerprint(b"table"), rewrites=True, truncates=False)
    )
    shard.fold(change(10, after=0), begin, rows, rewrite)
    assert shard.fold(end) == [SCOPE]
    assert shard.cold() is Cold.DOUBT
    shard.fold(*load(11, "a", id_="again"))
    assert shard.cold() is None


def test_an_alter_that_read_another_table_than_ours_is_not_believed(shard: Shard) -> None:
    shard.fold(change(1, CreateTable(image())))
    altered = AlterTable(image(b"new"), fingerprint(b"other"), rewrites=False, truncates=False)
    assert shard.fold(change(2, altered)) == [Scope(ScopeKind.OBJECTS, TABLE)]
    assert shard.store.snapshot().get(keys.of_table(keys.TABLE, TABLE)) is None
    assert shard.doubtful() == {()}


def test_a_missing_chunk_voids_a_load(shard: Shard) -> None:
    begin, _, end = load(1, "a")
    assert shard.fold(begin, end) == [SCOPE]
    assert shard.cold() is Cold.DOUBT


def test_chunks_of_a_superseded_load_are_ignored(shard: Shard) -> None:
    begin, rows, end = load(5, "old", id_="first")
    shard.fold(change(5, after=0), begin, *load(5, "new", id_="second")[:1], rows, end)
    assert shard.cold() is Cold.LOADING
    shard.fold(*load(5, "new", id_="second")[1:])
    assert shard.partitions() == {"new": b"p"}


def test_a_drop_during_a_load_keeps_its_rows_out(shard: Shard) -> None:
    begin, rows, end = load(10, "a")
    shard.fold(change(10, after=0), begin, change(11, DropTable(TABLE)), rows, end)
    assert shard.cold() is Cold.DOUBT
    assert shard.partitions() == {}


def test_an_event_that_cannot_be_read_makes_its_table_cold(shard: Shard) -> None:
    shard.fold(change(1, CreateTable(image())))
    assert SCOPE in shard.fold(change(2, Undecodable(TABLE)))
    assert shard.cold() is Cold.DOUBT


def test_tables_left_out_by_the_lists_leave_nothing_behind(shard: Shard) -> None:
    shard.fold(change(1, CreateTable(image())), change(2, add("a")), SetLists(0, 1, (), ("db.t",)))
    assert shard.state() is None
    shard.fold(change(3, add("b")), SetLists(0, 2, (), ()), change(4, add("c")))
    assert shard.partitions() == {"c": b"p"}
    assert shard.cold() is Cold.NEVER_LOADED


def test_a_decision_of_the_greatest_version_can_be_undone(shard: Shard) -> None:
    shard.fold(Pause(0, NATURAL_MAX, paused=True), SetLists(0, NATURAL_MAX, (), ("db.t",)))
    shard.fold(Pause(0, 7, paused=False), SetLists(0, 7, (), ()))
    assert (shard.head.paused, shard.head.blacklist) == (True, ("db.t",))
    shard.fold(Pause(0, NATURAL_MAX, paused=False), SetLists(0, NATURAL_MAX, (), ()))
    assert (shard.head.paused, shard.head.blacklist) == (False, ())


def test_a_transaction_that_outlives_its_table_asks_for_nothing(shard: Shard) -> None:
    shard.fold(
        change(1, CreateTable(image())),
        change(2, AllocateWriteIds(TABLE, (5,), (1,))),
        change(3, DropTable(TABLE)),
    )
    assert shard.fold(change(4, CommitTxn(5, None))) == []
    assert shard.state() is None


def test_rows_of_a_load_that_never_ended_are_gone_when_another_has_read_the_same_event(
    shard: Shard,
) -> None:
    """The database had lost the event of that id, and has written another since."""
    begun, rows, _ = load(50, "kept", "lost", id_="lost")
    shard.fold(change(49, after=0), begun, rows, change(50, after=49))
    shard.fold(*load(50, "kept", id_="retried"))
    assert shard.cold() is None
    assert sorted(shard.partitions()) == ["kept"]


@pytest.mark.parametrize("epoch", [0, 5, EPOCH_JUMP_MAX, EPOCH_JUMP_MAX + 1])
def test_the_record_by_which_a_connector_begins_changes_nothing(shard: Shard, epoch: int) -> None:
    """Whatever the epoch of the shard is."""
    for begun in range(0, epoch + 1, EPOCH_JUMP_MAX):
        shard.fold(Reset(begun, 1))
    shard.fold(Reset(epoch, 1), change(2, CreateTable(image()), epoch=epoch, after=1))
    before = shard.head
    shard.fold(FENCE)
    assert shard.head == before
    assert before.epoch == epoch
    assert shard.state() is not None
