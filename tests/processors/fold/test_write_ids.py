"""Which writes count as pending, and which ends of transactions are known."""

from hive.names import table_name
from hive.write_ids.pages import Cold
from state.records import LoadBegin, LoadEnd, LoadRows, Rows, ScopeKind
from state.records.actions import (
    AllocateWriteIds,
    AlterTable,
    CommitTxn,
    CreateTable,
    DropPartitions,
)
from state.records.objects import PartitionImage, TableImage, WriteIdsImage
from tests.processors.fold.test_rare_cases import IDS, managed, reader, whole
from tests.processors.fold.test_shard import SCOPE, TABLE, Shard, change


def is_pending(shard: Shard) -> bool:
    state = shard.state()
    assert state is not None
    return state.is_pending(reader(shard).write_ids(TABLE))


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
    assert reader(shard).write_ids(TABLE).cold is Cold.ALLOC_GAP
    both_open = WriteIdsImage(7, ((105, 5), (106, 7)), ())
    shard.fold(*whole(IDS, 12, write_ids=(both_open,)))
    assert is_pending(shard)
    shard.fold(change(13, CommitTxn(105, None)), change(14, CommitTxn(106, None)))
    assert not is_pending(shard)


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
