"""Which writes count as pending, and which ends of transactions are known."""

import msgspec
import pytest

from hive.names import table_name
from hive.write_ids import tracker
from hive.write_ids.lists import write_id_list
from hive.write_ids.pages import WriteIdsCold
from processors.fold import write_ids
from state import keys, kv
from state.records import (
    AnyRecord,
    LoadBegin,
    LoadEnd,
    LoadRows,
    OpenTransactions,
    Rows,
    Scope,
    ScopeKind,
)
from state.records.actions import (
    AllocateWriteIds,
    AlterTable,
    AnyAction,
    CommitTxn,
    CreateTable,
    DropPartitions,
    DropTable,
)
from state.records.objects import PartitionImage, TableImage, WriteIdsImage
from tests.processors.fold.shard import (
    IDS,
    SCOPE,
    TABLE,
    Shard,
    change,
    managed,
    reader,
    whole,
    written,
)


def is_pending(shard: Shard) -> bool:
    state = shard.state()
    assert state is not None
    return state.is_pending(reader(shard).write_ids(TABLE))


def test_a_table_that_is_created_by_a_write_waits_for_that_write_alone() -> None:
    shard = Shard()
    shard.fold(change(1, AllocateWriteIds(TABLE, (101, 102), (1, 2))))
    shard.fold(change(2, CreateTable(msgspec.structs.replace(managed(), write_id=1))))
    assert is_pending(shard)
    shard.fold(change(3, CommitTxn(101, None)))
    assert not is_pending(shard)


def test_a_write_stays_pending_where_ids_turn_out_unknown_at_the_end_of_a_load() -> None:
    shard = Shard()
    open_id = WriteIdsImage(5, ((105, 5),), ())
    partitions = tuple(PartitionImage((value,), 0, 1, b"p") for value in "ab")
    rows = Rows(tables=(managed(),), partitions=partitions, write_ids=(open_id,))
    shard.fold(change(10, after=0), LoadBegin(0, "table", SCOPE))
    # The open transaction writes; then an id is missing, so the load's ids are of no use.
    shard.fold(
        change(11, DropPartitions(TABLE, (("a",),))),
        change(12, AllocateWriteIds(TABLE, (106,), (7,))),
    )
    ended = LoadRows(0, "table", SCOPE, 10, 0, rows), LoadEnd(0, "table", SCOPE, 10, 10, 1)
    assert shard.fold(*ended) == [IDS]
    assert reader(shard).write_ids(TABLE).cold is WriteIdsCold.ALLOC_GAP
    both_open = WriteIdsImage(7, ((105, 5), (106, 7)), ())
    shard.fold(*whole(IDS, 12, write_ids=(both_open,)))
    assert is_pending(shard)
    shard.fold(change(13, CommitTxn(105, None)), change(14, CommitTxn(106, None)))
    assert not is_pending(shard)


OF_TABLE = LoadBegin(0, "table", SCOPE)
OF_IDS = LoadBegin(0, "ids", IDS)


def ended(begin: LoadBegin, lo: int, ids: WriteIdsImage, *, chunks: int = 1) -> list[AnyRecord]:
    tables = (managed(),) if begin.scope == SCOPE else ()
    rows = Rows(tables=tables, write_ids=(ids,))
    return [
        LoadRows(0, begin.load, begin.scope, lo, 0, rows),
        LoadEnd(0, begin.load, begin.scope, lo, lo, chunks),
    ]


NO_OPEN = WriteIdsImage(5, (), ())
LOADS: dict[str, tuple[AnyRecord, ...]] = {
    "ids within a load of the table": (OF_TABLE, OF_IDS, *ended(OF_IDS, 10, NO_OPEN)),
    "ids in one batch with the table": (OF_IDS, OF_TABLE, *ended(OF_IDS, 10, NO_OPEN)),
    "the table alone": (OF_TABLE,),
}


@pytest.mark.parametrize("records", LOADS.values(), ids=LOADS)
def test_after_a_load_of_a_table_later_ids_are_not_pending(records: tuple[AnyRecord, ...]) -> None:
    shard = Shard()
    shard.fold(change(10, after=0), *records, *ended(OF_TABLE, 10, NO_OPEN))
    # These transactions have written nothing.
    shard.fold(change(11, AllocateWriteIds(TABLE, (106, 107), (6, 7))))
    assert shard.cold() is None
    assert reader(shard).write_ids(TABLE).open_count == 2
    assert not is_pending(shard)


def test_a_load_that_more_facts_overtake_than_are_kept_leaves_no_write_pending(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tracker, "JOURNAL_MAX", 1)
    shard = Shard()
    shard.fold(change(1, CreateTable(managed())), change(2, AllocateWriteIds(TABLE, (1,), (1,))))
    shard.fold(OF_TABLE)
    shard.fold(*(change(1 + id_, AllocateWriteIds(TABLE, (id_,), (id_,))) for id_ in (2, 3)))
    shard.fold(*ended(OF_TABLE, 2, WriteIdsImage(1, ((1, 1),), ())))
    # What was written before the load may be of any transaction that was open then.
    assert is_pending(shard)
    shard.fold(*(change(4 + id_, CommitTxn(id_, None)) for id_ in (1, 2, 3)))
    shard.fold(change(8, AllocateWriteIds(TABLE, (4,), (4,))))
    assert not is_pending(shard)


def test_a_write_within_a_void_load_of_ids_is_pending_while_what_was_open_is() -> None:
    shard = Shard()
    shard.fold(change(1, CreateTable(managed())), change(2, AllocateWriteIds(TABLE, (1,), (1,))))
    shard.fold(OF_IDS, change(3, DropPartitions(TABLE, (("a",),))))
    shard.fold(*ended(OF_IDS, 2, WriteIdsImage(1, ((1, 1),), ()), chunks=2))
    assert is_pending(shard)
    allocated = change(4, AllocateWriteIds(TABLE, (2,), (2,)))
    shard.fold(allocated, change(5, CommitTxn(1, None)))
    assert not is_pending(shard)


ALTERED = AlterTable(
    msgspec.structs.replace(managed(), write_id=1), None, rewrites=False, truncates=False
)
"""Whoever sent no id of his own: the event tells the one that is stored, which was committed."""
FIRST_COMMITTED = (
    change(1, CreateTable(managed())),
    change(2, AllocateWriteIds(TABLE, (1,), (1,))),
    change(3, written(1)),
    change(4, CommitTxn(1, None)),
    change(5, AllocateWriteIds(TABLE, (2,), (2,))),
)


@pytest.mark.parametrize("write", [ALTERED, written(1, "b")])
def test_a_write_with_an_id_that_has_ended_is_pending_while_others_are_open(
    write: AnyAction,
) -> None:
    shard = Shard()
    shard.fold(*FIRST_COMMITTED)
    assert not is_pending(shard)
    shard.fold(change(6, write), change(7, AllocateWriteIds(TABLE, (3,), (3,))))
    assert is_pending(shard)
    shard.fold(change(8, CommitTxn(2, None)))
    assert not is_pending(shard)


def test_a_write_with_an_ended_id_within_a_load_of_ids_is_pending_while_others_are_open() -> None:
    shard = Shard()
    shard.fold(*FIRST_COMMITTED, OF_IDS, change(6, ALTERED))
    shard.fold(*ended(OF_IDS, 5, WriteIdsImage(2, ((2, 2),), ())))
    assert is_pending(shard)
    shard.fold(change(7, CommitTxn(2, None)))
    assert not is_pending(shard)


def test_a_write_with_an_open_id_within_a_load_of_ids_waits_for_no_other() -> None:
    shard = Shard()
    shard.fold(*FIRST_COMMITTED, change(6, AllocateWriteIds(TABLE, (3,), (3,))))
    shard.fold(OF_IDS, change(7, written(3, "b")))
    shard.fold(*ended(OF_IDS, 6, WriteIdsImage(3, ((2, 2), (3, 3)), ())))
    assert is_pending(shard)
    shard.fold(change(8, CommitTxn(3, None)))
    assert not is_pending(shard)


def test_a_load_that_never_ends_keeps_no_newer_ends_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write_ids, "ENDED_MAX", 2)
    shard = Shard()
    shard.fold(change(1, CreateTable(managed())))
    shard.fold(LoadBegin(0, "elsewhere", Scope(ScopeKind.TABLE, TABLE._replace(table="other"))))
    shard.fold(*(change(event, CommitTxn(event, None)) for event in range(2, 9)))
    assert shard.head.ended_count <= 2
    shard.fold(OF_IDS, change(9, AllocateWriteIds(TABLE, (100,), (1,))))
    shard.fold(change(10, CommitTxn(100, None)), *ended(OF_IDS, 8, WriteIdsImage(0, (), ())))
    assert reader(shard).write_ids(TABLE).snapshot() == write_id_list(1)


def test_an_id_that_came_during_a_load_and_whose_end_was_not_kept_is_compared(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(write_ids, "ENDED_MAX", 0)
    shard = Shard()
    shard.fold(change(1, CreateTable(managed())), OF_IDS)
    shard.fold(change(2, AllocateWriteIds(TABLE, (100,), (1,))), change(3, CommitTxn(100, None)))
    shard.fold(*ended(OF_IDS, 1, WriteIdsImage(0, (), ())))
    assert reader(shard).write_ids(TABLE).snapshot() == write_id_list(1, [1])
    assert shard.fold(OpenTransactions(0, 3, ())) == [IDS]
    assert reader(shard).write_ids(TABLE).cold is WriteIdsCold.HIDDEN_ABORT


def test_writes_that_have_ended_are_forgotten_at_times() -> None:
    shard = Shard()
    shard.fold(change(1, CreateTable(managed())), change(2, AllocateWriteIds(TABLE, (1,), (1,))))
    shard.fold(change(3, written(1)))
    for id_ in range(2, 200):
        allocated = change(4 * id_, AllocateWriteIds(TABLE, (id_,), (id_,)), after=4 * id_ - 5)
        write, commit = written(id_, str(id_)), CommitTxn(id_, None)
        shard.fold(allocated, change(4 * id_ + 1, write), change(4 * id_ + 2, commit))
        state = shard.state()
        assert state is not None
        assert state.pending[0] == 1
        assert len(state.pending) < write_ids.PENDING_CHECKED
        assert is_pending(shard)
    shard.fold(change(900, CommitTxn(1, None), after=4 * 199 + 2))
    assert not is_pending(shard)


def test_writes_that_had_ended_before_a_load_are_forgotten_at_its_end() -> None:
    shard = Shard()
    shard.fold(change(10, after=0), change(11, written(4)), change(12, written(5)))
    shard.fold(OF_IDS, *ended(OF_IDS, 12, WriteIdsImage(5, ((105, 5),), ())))
    state = shard.state()
    assert state is not None
    assert state.pending == [5]
    assert is_pending(shard)


def held(shard: Shard) -> list[int]:
    """The transactions that hold write ids."""
    return [keys.txn_of(key) for key, _ in kv.scan_prefix(shard.store.snapshot(), keys.TXN)]


def test_transactions_that_ended_without_an_event_are_forgotten_at_last() -> None:
    shard = Shard()
    shard.fold(change(1, CreateTable(managed())), change(2, AllocateWriteIds(TABLE, (1,), (1,))))
    shard.fold(change(3, AllocateWriteIds(TABLE, (2, 3), (2, 3))), OF_IDS)
    # While a load is open, nobody knows what its rows say of the transaction.
    shard.fold(OpenTransactions(0, 3, (2,)))
    assert held(shard) == [1, 2, 3]
    # Nor was it open, or not, at an event before its first id.
    both_open = WriteIdsImage(3, ((2, 2), (3, 3)), (1,))
    shard.fold(*ended(OF_IDS, 3, both_open), OpenTransactions(0, 2, (2,)))
    assert held(shard) == [2, 3]
    assert shard.fold(OpenTransactions(0, 3, (2,))) == [IDS]
    assert held(shard) == [2]
    # With the table goes the transaction's last id.
    shard.fold(change(4, DropTable(TABLE)), OpenTransactions(0, 4, ()))
    assert held(shard) == []


def test_no_load_of_write_ids_is_asked_for_outside_of_the_default_catalog() -> None:
    for catalog, expected in (("spark", []), (None, [ScopeKind.WRITE_IDS])):
        name = table_name(catalog, TABLE.db, TABLE.table)
        external, managed_ = (
            TableImage(name, 7, 0, managed=is_managed, partitioned=True, data=b"table")
            for is_managed in (False, True)
        )
        created = Shard().fold(change(1, CreateTable(managed_)))
        assert [scope.kind for scope in created] == expected
        converted = AlterTable(managed_, None, rewrites=False, truncates=False)
        shard = Shard()
        signals = shard.fold(change(1, CreateTable(external)), change(2, converted))
        assert [scope.kind for scope in signals if scope.kind is ScopeKind.WRITE_IDS] == expected


def test_ends_of_transactions_are_kept_as_long_as_a_load_is_open() -> None:
    shard = Shard()
    shard.fold(change(1, CreateTable(managed())), OF_IDS, change(2, CommitTxn(100, None)))
    assert (shard.head.loads_open, shard.head.ended_count) == (1, 1)
    shard.fold(*ended(OF_IDS, 1, NO_OPEN), change(3, CommitTxn(101, None)))
    assert (shard.head.loads_open, shard.head.ended_count) == (0, 0)
    assert not list(kv.scan_prefix(shard.store.snapshot(), keys.ENDED_TXN))


def test_a_write_stays_pending_while_nobody_knows_which_ids_are_open(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(write_ids, "PENDING_CHECKED", 1)
    shard = Shard()
    shard.fold(change(1, CreateTable(managed())), change(2, AllocateWriteIds(TABLE, (1,), (1,))))
    # No event has told of this id.
    shard.fold(change(3, written(5)), OF_IDS)
    shard.fold(*ended(OF_IDS, 3, WriteIdsImage(5, ((105, 5),), ())))
    assert is_pending(shard)
