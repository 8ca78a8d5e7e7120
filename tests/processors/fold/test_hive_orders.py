"""What metastores store before or after the event that tells of it."""

from typing import Any

import msgspec
import pytest

from hive.thrift.binary import decode, encode
from hive.thrift.structs import PARTITION, TABLE
from processors.fold.truncations import READS_MAX
from state import keys
from state.loads import Cold
from state.records import LoadBegin, LoadEnd, LoadRows, OpenTransactions, Reread, ResetTable, Rows
from state.records.actions import (
    AllocateWriteIds,
    AlterPartition,
    AlterTable,
    CommitTxn,
    CreateTable,
    DropTable,
)
from state.records.objects import PartitionImage, TableImage, WriteIdsImage, fingerprint
from state.shard_reader import ShardReader
from state.tables import TABLE_ROW
from tests.processors.fold.shard import SCOPE, Shard, add, change, statistics, table
from tests.processors.fold.shard import TABLE as NAME

FULL, EMPTY = {"numRows": "5", "totalSize": "50"}, {"numRows": "0", "totalSize": "0"}


def truncation(image: TableImage) -> AlterTable:
    """Its event has the new state on both sides."""
    return AlterTable(image, fingerprint(image.data), rewrites=False, truncates=True)


def figures(shard: Shard) -> Any:
    """The figures of the table as it would be served; None if it is in doubt."""
    entry = ShardReader(shard.store.snapshot()).table(NAME)
    if entry is None:
        assert shard.doubtful() == {TABLE_ROW}
        return None
    assert shard.doubtful() == set()
    parameters = decode(TABLE, entry.data)["parameters"]
    return {name: parameters[name] for name in FULL}


def reread(at: int, image: TableImage) -> Reread:
    return Reread(0, NAME, at, 7, ((),), Rows(tables=(image,)))


def load(at: int, image: TableImage) -> tuple[LoadBegin, LoadRows, LoadEnd]:
    return (
        LoadBegin(0, f"load-{at}", SCOPE),
        LoadRows(0, f"load-{at}", SCOPE, at, 0, Rows(tables=(image,))),
        LoadEnd(0, f"load-{at}", SCOPE, at, at, 1),
    )


@pytest.fixture
def truncated() -> Shard:
    shard = Shard()
    shard.fold(change(1, CreateTable(table(FULL))), change(2, truncation(table(EMPTY))))
    return shard


def test_a_table_that_is_read_before_its_truncation_is_stored_stays_in_doubt(
    truncated: Shard,
) -> None:
    assert figures(truncated) is None
    assert truncated.fold(reread(2, table(FULL))) != [], "it is asked for again"
    assert figures(truncated) is None
    truncated.fold(reread(2, table(EMPTY | {"COLUMN_STATS_ACCURATE": "{}"}, write_id=3)))
    assert figures(truncated) == EMPTY


def test_a_load_from_before_a_truncation_is_stored_leaves_the_table_in_doubt(
    truncated: Shard,
) -> None:
    truncated.fold(*load(2, table(FULL)))
    assert figures(truncated) is None
    truncated.fold(reread(2, table(EMPTY)))
    assert figures(truncated) == EMPTY


def test_a_table_that_was_read_under_an_id_that_it_had_before_stays_in_doubt(
    truncated: Shard,
) -> None:
    truncated.fold(msgspec.structs.replace(reread(2, table(EMPTY)), table_id=6))
    assert figures(truncated) is None


def test_a_table_that_a_later_load_has_read_is_not_lost_by_events_from_before(
    truncated: Shard,
) -> None:
    truncated.fold(*load(5, table(FULL, id_=9)))
    truncated.fold(change(3, DropTable(NAME)), change(4, CreateTable(table(FULL, id_=9))))
    truncated.fold(change(5, after=4))
    assert figures(truncated) is None


def test_a_truncation_during_a_load_is_compared_at_its_end() -> None:
    shard = Shard()
    shard.fold(change(1, CreateTable(table(FULL))))
    begin, rows, end = load(2, table(FULL))
    shard.fold(begin, change(2, truncation(table(EMPTY))), rows, end)
    assert figures(shard) is None


@pytest.mark.parametrize("is_ahead", [False, True])
def test_an_earlier_reread_doesn_t_settle_what_a_later_load_has_read(
    truncated: Shard, is_ahead: bool
) -> None:
    full = table(FULL | {"comment": "new"})
    truncated.fold(*([] if is_ahead else [change(3)]), *load(3, full))
    truncated.fold(reread(2, table(EMPTY)))
    assert figures(truncated) is None
    truncated.fold(change(3), reread(3, table(EMPTY)))
    assert figures(truncated) == EMPTY


def test_a_truncation_outlasts_an_order_to_load_the_table(truncated: Shard) -> None:
    truncated.fold(ResetTable(0, 2, NAME), *load(2, table(FULL)))
    assert figures(truncated) is None
    truncated.fold(reread(2, table(EMPTY)))
    assert figures(truncated) == EMPTY


def test_a_truncation_during_a_load_outlasts_an_order_before_its_end() -> None:
    shard = Shard()
    shard.fold(change(1, CreateTable(table(FULL))))
    begin, _, _ = load(1, table(FULL))
    shard.fold(begin, change(2, truncation(table(EMPTY))), ResetTable(0, 2, NAME))
    shard.fold(*load(2, table(FULL)))
    assert figures(shard) is None
    shard.fold(reread(2, table(EMPTY)))
    assert figures(shard) == EMPTY


def test_a_truncation_that_is_never_stored_is_not_waited_for_without_end(truncated: Shard) -> None:
    for _ in range(READS_MAX):
        truncated.fold(reread(2, table(FULL)))
        assert figures(truncated) is None
    truncated.fold(reread(2, table(FULL)))
    assert figures(truncated) == FULL


def test_a_truncation_may_have_any_bytes() -> None:
    shard, broken = Shard(), table(EMPTY).data.replace(b"numRows", b"num\xffows")
    image = TableImage(NAME, 7, 0, managed=False, partitioned=False, data=broken)
    shard.fold(change(1, CreateTable(image)), change(2, truncation(image)))
    assert shard.doubtful() == set()


def test_a_later_event_tells_more_than_a_truncation(truncated: Shard) -> None:
    truncated.fold(reread(2, table(EMPTY)))
    filled = AlterTable(
        table(FULL), fingerprint(table(EMPTY).data), rewrites=False, truncates=False
    )
    truncated.fold(change(3, filled))
    assert figures(truncated) == FULL
    truncated.fold(*load(3, table(FULL)))
    assert figures(truncated) == FULL


def test_what_waits_for_a_load_ends_with_its_table() -> None:
    """Its successor has another id."""
    shard = Shard()
    shard.fold(change(10, after=0))
    begin, rows, end = load(10, table(FULL))
    altered = AlterTable(
        table(FULL | {"x": "1"}), fingerprint(table(FULL).data), rewrites=False, truncates=False
    )
    created = CreateTable(table(EMPTY, id_=9))
    shard.fold(begin, rows, change(11, altered), change(12, DropTable(NAME)), change(13, created))
    shard.fold(end)
    state = shard.state()
    assert state is not None
    assert state.id == 9
    assert figures(shard) == EMPTY


def with_statistics() -> Shard:
    """A partition that has statistics of a column."""
    shard = Shard()
    added = add("a", data=encode(PARTITION, {}))
    shard.fold(change(1, CreateTable(table(FULL))), change(2, added), statistics(3, 0b110))
    return shard


def test_a_partition_with_statistics_that_gets_other_values_is_in_doubt() -> None:
    """Before 4.2, its row says afterwards which statistics are accurate."""
    shard = with_statistics()
    stored = shard.partitions()["a"]
    renamed = PartitionImage(("b",), 0, 1, stored)
    action = AlterPartition(NAME, 0, ("a",), fingerprint(stored), renamed, truncates=False)
    shard.fold(change(4, action))
    assert shard.doubtful() == {keys.named_values(("b",))}
    assert shard.partitions() == {}
    row = PartitionImage(("b",), 0, 1, stored)
    shard.fold(Reread(0, NAME, 4, 7, (("b",),), Rows(partitions=(row,))))
    state = shard.state()
    assert state is not None
    assert state.cold(4, 0) is None
    assert state.statistics_cold(4, 0) is Cold.DOUBT, "nothing says whether they moved along"


def test_a_partition_that_gets_other_values_keeps_its_columns() -> None:
    shard, data = Shard(), encode(PARTITION, {})
    shard.fold(change(1, CreateTable(table(FULL))), change(2, add("b", data=data)))
    renamed = PartitionImage(("a",), 0, 1, data)
    action = AlterPartition(NAME, 0, ("b",), fingerprint(data), renamed, truncates=False)
    shard.fold(change(3, action), statistics(4, 0b110))
    before = fingerprint(shard.partitions()["a"])
    shard.fold(change(5, AlterPartition(NAME, 0, ("a",), before, renamed, truncates=False)))
    state = shard.state()
    assert state is not None
    assert state.statistics_cold(5, 0) is None


def test_statistics_of_a_partition_that_is_read_and_not_there_are_gone() -> None:
    shard = with_statistics()
    altered = PartitionImage(("a",), 0, 1, b"new")
    another = fingerprint(b"another")
    shard.fold(change(4, AlterPartition(NAME, 0, ("a",), another, altered, truncates=False)))
    shard.fold(Reread(0, NAME, 4, 7, (("a",),), Rows()))
    assert shard.doubtful() == set()
    assert list(ShardReader(shard.store.snapshot()).partition_statistics(NAME, ("a",))) == []


def test_a_table_with_statistics_that_gets_other_columns_is_not_served_alone() -> None:
    """Before 4.2, its row says afterwards which statistics are accurate."""
    shard = with_statistics()
    altered = AlterTable(
        table(EMPTY), fingerprint(table(FULL).data), rewrites=True, truncates=False
    )
    shard.fold(change(4, altered))
    state = shard.state()
    assert state is not None
    assert state.loads.cold(4, 0) is Cold.DOUBT
    assert not state.loads.tells_alone(4, 0)


def test_a_table_with_nothing_below_it_may_get_other_columns() -> None:
    shard = Shard()
    altered = AlterTable(
        table(EMPTY), fingerprint(table(FULL).data), rewrites=True, truncates=False
    )
    assert shard.fold(change(1, CreateTable(table(FULL))), change(2, altered)) == []
    assert shard.cold() is None
    assert figures(shard) == EMPTY


def managed(write_id: int, *, partitioned: bool = False) -> TableImage:
    fields = {"tableName": "t", "dbName": "db", "writeId": write_id}
    data = encode(TABLE, fields)
    return TableImage(NAME, 7, write_id, managed=True, partitioned=partitioned, data=data)


def written(before: TableImage, after: TableImage) -> AlterTable:
    return AlterTable(after, fingerprint(before.data), rewrites=False, truncates=False)


def with_two_transactions(*, partitioned: bool = False) -> Shard:
    """A shard with a table of which transactions 101 and 102 hold the ids 1 and 2."""
    shard = Shard()
    shard.fold(
        change(1, CreateTable(managed(0, partitioned=partitioned))),
        change(2, AllocateWriteIds(NAME, (101, 102), (1, 2))),
    )
    return shard


@pytest.mark.parametrize(("partitioned", "doubtful"), [(False, {TABLE_ROW}), (True, set())])
def test_a_writer_that_ends_after_another_wrote_may_have_stored_its_id_again(
    partitioned: bool, doubtful: set[tuple[str, ...]]
) -> None:
    shard = with_two_transactions(partitioned=partitioned)
    images = [managed(write_id, partitioned=partitioned) for write_id in range(3)]
    shard.fold(change(3, written(*images[:2])), change(4, written(*images[1:])))
    shard.fold(change(5, CommitTxn(101, None)))
    assert shard.doubtful() == doubtful
    shard.fold(reread(5, images[1]), change(6, CommitTxn(102, None)))
    assert shard.doubtful() == doubtful
    shard.fold(reread(6, images[2]))
    assert shard.doubtful() == set()


@pytest.mark.parametrize("is_loading", [False, True])
@pytest.mark.parametrize(("txn", "doubtful"), [(101, {TABLE_ROW}), (102, set())])
def test_a_writer_from_before_a_load_may_have_stored_its_id_again(
    txn: int, doubtful: set[tuple[str, ...]], is_loading: bool
) -> None:
    ids = WriteIdsImage(2, ((101, 1), (102, 2)), ())
    rows = Rows(tables=(managed(2),), write_ids=(ids,))
    begin, _, end = load(4, managed(2))
    shard, ends = Shard(), change(5, CommitTxn(txn, None))
    shard.fold(begin, LoadRows(0, "load-4", SCOPE, 4, 0, rows), change(4))
    shard.fold(*((ends, end) if is_loading else (end, ends)))
    assert shard.doubtful() == doubtful
    shard.fold(reread(5, managed(1)))
    assert shard.doubtful() == set()


@pytest.mark.parametrize("txn", [101, 102])
def test_a_writer_that_ends_while_write_ids_are_cold_may_have_stored_its_id_again(txn: int) -> None:
    shard = with_two_transactions()
    shard.fold(
        change(3, written(managed(0), managed(1))), change(4, written(*map(managed, (1, 2))))
    )
    shard.fold(change(5, AllocateWriteIds(NAME, (103,), (9,))))
    assert shard.doubtful() == set()
    shard.fold(change(6, CommitTxn(txn, None)))
    assert shard.doubtful() == {TABLE_ROW}


def test_a_writer_that_ends_without_an_event_may_have_stored_its_id_again() -> None:
    shard = with_two_transactions()
    shard.fold(
        change(3, written(managed(0), managed(1))), change(4, written(*map(managed, (1, 2))))
    )
    shard.fold(OpenTransactions(0, 4, (102,)))
    assert shard.doubtful() == {TABLE_ROW}


def test_a_writer_that_ends_is_not_overtaken_by_what_it_wrote_itself() -> None:
    shard = with_two_transactions()
    shard.fold(
        change(3, written(managed(0), managed(1))), change(4, written(managed(9), managed(2)))
    )
    assert shard.doubtful() == {TABLE_ROW}
    shard.fold(reread(4, managed(2)), change(5, CommitTxn(102, None)))
    assert shard.doubtful() == set()


def test_writers_one_after_the_other_leave_no_doubt() -> None:
    shard = with_two_transactions()
    shard.fold(change(3, written(managed(0), managed(1))), change(4, CommitTxn(101, None)))
    shard.fold(change(5, written(managed(1), managed(2))), change(6, CommitTxn(102, None)))
    assert shard.doubtful() == set()
