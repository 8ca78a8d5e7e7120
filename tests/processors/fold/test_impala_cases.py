"""What others who follow the same log met: Impala's cases, by their numbers, and a few of ours.

Failing fetches (IMPALA-12561) are tested where the log is read.
"""

from collections.abc import Callable

import pytest

from hive.names import TableName, table_name
from hive.write_ids.lists import WriteIdList, write_id_list
from state import digest
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
    AbortTxn,
    AllocateWriteIds,
    AlterTable,
    AnyAction,
    CommitTxn,
    CreateTable,
    DropPartitions,
    DropTable,
    PutPartitions,
    RenameTable,
    Side,
)
from state.records.objects import PartitionImage, TableImage, WriteIdsImage, fingerprint
from tests.model import serving
from tests.model.serving import ByWriteIds, HistoryPosition, ReadRequest, Refusal
from tests.model.world import Shard
from tests.processors.fold.shard import change

TABLE = table_name(None, "db", "t")
OTHER = TABLE._replace(table="u")


def image(
    data: bytes = b"table", write_id: int = 0, name: TableName = TABLE, id_: int = 7
) -> TableImage:
    return TableImage(name, id_, write_id, managed=True, partitioned=True, data=data)


def add(write_id: int, *values: str, data: bytes = b"p", added: bool = True) -> PutPartitions:
    images = tuple(PartitionImage((value,), write_id, 1, data) for value in values)
    return PutPartitions(TABLE, write_id, images, added)


def alloc(txn: int, write_id: int, name: TableName = TABLE) -> AllocateWriteIds:
    return AllocateWriteIds(name, (txn,), (write_id,))


class Log:
    """Numbers events, and folds each at once."""

    def __init__(self) -> None:
        self.shard = Shard()
        self.event = 0

    def happen(self, *actions: AnyAction) -> None:
        self.event += 1
        self.shard.fold(change(self.event, *actions))

    def load(self, write_ids: WriteIdsImage, name: TableName = TABLE) -> None:
        scope = Scope(ScopeKind.TABLE, name)
        load = f"load {self.event}"
        rows = Rows(tables=(image(name=name),), write_ids=(write_ids,))
        records: list[AnyRecord] = [
            LoadBegin(0, load, scope),
            LoadRows(0, load, scope, self.event, 0, rows),
            LoadEnd(0, load, scope, self.event, self.event, 1),
        ]
        self.shard.fold(*records)

    def refusal(self, ids: WriteIdList, name: TableName = TABLE, id_: int = 7) -> object:
        """Why a reader with this list isn't answered from the cache; None when it is."""
        asked = ReadRequest(write_ids=ByWriteIds(ids, id_))
        return serving.table(self.shard.reader, name, asked)

    def partitions(self) -> dict[str, bytes]:
        return {values[0]: entry.data for values, entry in self.shard.reader.partitions(TABLE)}


@pytest.fixture
def log() -> Log:
    return Log()


@pytest.fixture
def written(log: Log) -> Log:
    """A table with one committed write."""
    log.happen(CreateTable(image()))
    log.happen(alloc(1, 1))
    log.happen(add(1, "a"))
    log.happen(CommitTxn(1, None))
    log.shard.signals.clear()
    return log


def test_impala_12851_write_ids_are_allocated_before_their_table_is_created(log: Log) -> None:
    log.happen(alloc(1, 1))
    log.happen(CreateTable(image(write_id=1)))
    assert log.refusal(write_id_list(1)) is Refusal.PENDING
    log.happen(CommitTxn(1, None))
    assert log.refusal(write_id_list(1)) is None


def test_impala_12851_write_ids_are_allocated_before_their_table_is_loaded(log: Log) -> None:
    log.happen(alloc(3, 5))
    log.load(WriteIdsImage(5, ((3, 5),), ()))
    log.happen(CommitTxn(3, None))
    assert log.refusal(write_id_list(5)) is None


def test_impala_12851_an_allocation_in_one_batch_with_its_table() -> None:
    shard = Shard()
    shard.fold(
        change(1, alloc(1, 1)),
        change(2, CreateTable(image(write_id=1))),
        change(3, CommitTxn(1, None)),
    )
    request = ReadRequest(write_ids=ByWriteIds(write_id_list(1), 7))
    assert serving.table(shard.reader, TABLE, request) is None


def test_impala_12827_a_late_abort_of_an_id_that_was_cleaned_up(written: Log) -> None:
    written.happen(alloc(2, 2))
    written.load(WriteIdsImage(2, (), ()))
    written.happen(AbortTxn(2))
    assert written.refusal(write_id_list(2)) is None
    assert written.refusal(write_id_list(2, aborted_ids=[2])) is None


def test_impala_12827_aborted_ids_that_readers_have_forgotten_cost_no_hits(written: Log) -> None:
    written.happen(alloc(2, 2))
    written.happen(AbortTxn(2))
    assert written.refusal(write_id_list(2)) is None
    assert written.refusal(write_id_list(2, aborted_ids=[2])) is None
    assert written.refusal(write_id_list(1)) is None


def test_impala_13974_a_null_catalog_is_the_default_one() -> None:
    """ALLOC_WRITE_ID and COMMIT_COMPACTION name none."""
    assert table_name(None, "DB", "T") == TABLE
    assert TABLE.database.catalog == "hive"


def test_impala_14637_after_a_truncate_no_older_state_is_served(written: Log) -> None:
    written.happen(alloc(2, 2))
    emptied = image(b"emptied", write_id=2)
    before = fingerprint(b"emptied")
    written.happen(AlterTable(emptied, before, rewrites=False, truncates=True))
    written.happen(CommitTxn(2, None))
    assert written.refusal(write_id_list(2)) is not None
    row = written.shard.reader.table(TABLE)
    assert row is None or row.data == b"emptied"


@pytest.mark.parametrize("pairs", [None, (("db", 2),), (("db", 2), ("elsewhere", 9))])
def test_impala_13285_a_commit_that_holds_only_its_transaction(
    written: Log, pairs: tuple[tuple[str, int], ...] | None
) -> None:
    written.happen(alloc(2, 2))
    written.happen(add(2, "b"))
    assert written.refusal(write_id_list(2)) is Refusal.PENDING
    written.happen(CommitTxn(2, pairs))
    assert written.refusal(write_id_list(2)) is None
    assert written.refusal(write_id_list(2, [2])) is Refusal.OTHER_WRITES


def test_impala_14307_a_rename_and_a_new_table_of_the_old_name(written: Log) -> None:
    written.happen(RenameTable(TABLE, image(name=OTHER), Side.BOTH))
    written.happen(CreateTable(image(b"new", id_=8)))
    assert written.refusal(write_id_list(0), id_=7) is Refusal.OTHER_TABLE
    assert written.refusal(write_id_list(0), OTHER) is not None
    written.load(WriteIdsImage(1, (), ()), OTHER)
    assert written.refusal(write_id_list(1), OTHER) is None
    assert written.partitions() == {}


def test_impala_14307_a_table_that_is_dropped_and_created_begins_anew(written: Log) -> None:
    written.happen(DropTable(TABLE))
    written.happen(alloc(2, 1))
    written.happen(CreateTable(image(b"new", write_id=1, id_=8)))
    written.happen(CommitTxn(2, None))
    assert written.refusal(write_id_list(1), id_=7) is Refusal.OTHER_TABLE
    assert written.refusal(write_id_list(1), id_=8) is None
    assert written.partitions() == {}


def test_impala_13593_many_partitions_altered_by_one_event(written: Log) -> None:
    written.happen(add(0, *map(str, range(1000))))
    written.happen(add(0, *map(str, range(1000)), data=b"q", added=False))
    assert set(written.partitions().values()) == {b"p", b"q"}
    assert list(written.partitions().values()).count(b"q") == 1000


def test_impala_13801_a_position_counts_only_what_was_folded(written: Log) -> None:
    reader = written.shard.reader
    here = HistoryPosition(0, written.event)
    assert serving.table(reader, TABLE, ReadRequest(at_least=here)) is None
    next_ = here._replace(event=here.event + 1)
    assert serving.table(reader, TABLE, ReadRequest(at_least=next_)) is Refusal.BEHIND


def test_impala_10926_an_older_update_does_not_undo_a_newer_one(written: Log) -> None:
    old = change(written.event + 1, add(0, "b", data=b"old"))
    written.happen(add(0, "b", data=b"old"))
    written.happen(add(0, "b", data=b"new", added=False))
    written.shard.fold(old)
    assert written.partitions()["b"] == b"new"


def test_impala_12399_an_opened_transaction_at_the_end_of_the_log_is_a_position(
    written: Log,
) -> None:
    written.happen()
    here = HistoryPosition(0, written.event)
    assert serving.table(written.shard.reader, TABLE, ReadRequest(at_least=here)) is None


def test_impala_12463_interleaved_tables_fold_in_one_batch_as_one_by_one() -> None:
    records = [change(1, CreateTable(image())), change(2, CreateTable(image(name=OTHER)))]
    for event in range(3, 43, 2):
        images = (PartitionImage((str(event),), 0, 1, b"p"),)
        actions = (PutPartitions(name, 0, images, added=True) for name in (TABLE, OTHER))
        records += [change(event + at, action) for at, action in enumerate(actions)]
    at_once, in_turn = Shard(), Shard()
    at_once.fold(*records)
    for record in records:
        in_turn.fold(record)
    assert digest.exact(at_once.store.snapshot()) == digest.exact(in_turn.store.snapshot())
    assert len(list(at_once.reader.partitions(OTHER))) == 20
    assert at_once.signals == in_turn.signals


def test_impala_12487_alters_of_nothing_but_parameters_need_no_load(written: Log) -> None:
    touched = image(b"touched")
    written.happen(AlterTable(touched, fingerprint(b"table"), rewrites=False, truncates=False))
    row = written.shard.reader.table(TABLE)
    assert row is not None
    assert row.data == b"touched"
    assert written.shard.signals == {}
    assert written.partitions() == {"a": b"p"}


def test_impala_11534_alters_that_change_nothing_keep_everything(written: Log) -> None:
    same = AlterTable(image(), fingerprint(b"table"), rewrites=False, truncates=False)
    written.happen(same)
    assert written.shard.signals == {}
    assert written.refusal(write_id_list(1)) is None
    assert written.partitions() == {"a": b"p"}


def test_two_alters_of_one_transaction_through_two_metastores(written: Log) -> None:
    """The second writer had not read what the first one wrote: its event lacks that."""

    def alter(before: bytes, after: bytes) -> AlterTable:
        return AlterTable(image(after, 2), fingerprint(before), rewrites=False, truncates=False)

    written.happen(alloc(2, 2))
    written.happen(alter(b"table", b"first"))
    assert serving.table(written.shard.reader, TABLE, serving.ANY) is None
    written.happen(alter(b"table", b"second"))
    assert serving.table(written.shard.reader, TABLE, serving.ANY) is not None
    assert Scope(ScopeKind.OBJECTS, TABLE) in written.shard.signals


def test_a_table_created_as_a_query_appears_with_its_commit(log: Log) -> None:
    log.happen(alloc(1, 1))
    log.happen(CreateTable(image(write_id=1)))
    log.happen(add(1, "a"))
    assert log.refusal(write_id_list(1, [1])) is Refusal.PENDING
    log.happen(CommitTxn(1, (("db", 1),)))
    assert log.refusal(write_id_list(1)) is None
    assert log.partitions() == {"a": b"p"}


def test_transactions_that_only_read_change_nothing(written: Log) -> None:
    """They have no events; the metastore holds them open all the same."""
    written.shard.fold(OpenTransactions(0, written.event, (17, 18)))
    assert written.shard.signals == {}
    assert written.refusal(write_id_list(1)) is None


def compacted(log: Log) -> None:
    """A compaction's transaction commits; it has no write id."""
    log.happen(CommitTxn(9, ()))


def purged(log: Log) -> None:
    """The metastore forgets finished ids: a load then finds no rows."""
    log.load(WriteIdsImage(1, (), ()))


@pytest.mark.parametrize("clean", [compacted, purged])
def test_after_compaction_and_purge_the_next_reads_hit(
    written: Log, clean: Callable[[Log], None]
) -> None:
    clean(written)
    assert written.refusal(write_id_list(1)) is None


def test_a_partition_dropped_without_a_write_id_is_pending_until_open_ids_end(written: Log) -> None:
    written.happen(alloc(2, 2))
    written.happen(DropPartitions(TABLE, (("a",),)))
    assert written.refusal(write_id_list(2, [2])) is Refusal.PENDING
    written.happen(CommitTxn(2, None))
    assert written.refusal(write_id_list(2)) is None
    assert written.partitions() == {}
