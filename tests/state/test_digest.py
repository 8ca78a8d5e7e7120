"""What makes two shards equal for their readers, and what does not."""

from hive.names import table_name
from state import digest
from state.records import AnyRecord, Change, LoadBegin, LoadEnd, LoadRows, Rows, Scope, ScopeKind
from state.records.actions import AllocateWriteIds, CreateTable, PutConstraints, PutPartitions
from state.records.objects import (
    ConstraintImage,
    ConstraintKind,
    PartitionImage,
    TableImage,
)
from state.store import MemoryStore
from tests.support.folding import folded_into

TABLE = table_name(None, "db", "t")
SCOPE = Scope(ScopeKind.TABLE, TABLE)
IMAGE = TableImage(TABLE, 7, 0, managed=False, partitioned=True, data=b"table")
PARTITION = PartitionImage(("a",), 0, 1, b"partition")
CREATED = (
    Change(0, 0, 1, (CreateTable(IMAGE),)),
    Change(0, 1, 2, (PutPartitions(TABLE, 0, (PARTITION,), added=True),)),
)
LOADED = (
    Change(0, 0, 9),
    LoadBegin(0, "load", SCOPE),
    LoadRows(0, "load", SCOPE, 9, 0, Rows(tables=(IMAGE,), partitions=(PARTITION,))),
    LoadEnd(0, "load", SCOPE, 9, 9, 1),
)
NAME = "table hive.db.t"


def digests(*records: AnyRecord) -> tuple[str, dict[str, str | None]]:
    txn = MemoryStore().transaction()
    folded_into(txn, records)
    return digest.exact(txn), digest.content(txn)


def test_a_table_from_events_and_from_a_load_has_the_same_content() -> None:
    from_events, from_load = digests(*CREATED), digests(*LOADED)
    assert from_events[1][NAME] is not None
    assert from_events[1] == from_load[1]
    assert from_events[0] != from_load[0]


def test_the_same_records_give_the_same_bytes() -> None:
    assert digests(*CREATED)[0] == digests(*CREATED, CREATED[1])[0]


def test_write_ids_are_no_content() -> None:
    allocated = Change(0, 2, 3, (AllocateWriteIds(TABLE, (1,), (1,)),))
    assert digests(*CREATED)[1] == digests(*CREATED, allocated)[1]


def test_another_partition_is_another_content() -> None:
    other = PartitionImage(("a",), 0, 1, b"other")
    changed = Change(0, 2, 3, (PutPartitions(TABLE, 0, (other,), added=False),))
    assert digests(*CREATED)[1] != digests(*CREATED, changed)[1]


def test_constraints_are_no_content() -> None:
    constraint = ConstraintImage(ConstraintKind.UNIQUE, "name", (b"column",))
    added = Change(0, 2, 3, (PutConstraints(TABLE, (constraint,)),))
    assert digests(*CREATED, added)[1] == digests(*CREATED)[1]
    assert digests(*CREATED, added)[0] != digests(*CREATED)[0]


def test_a_cold_table_has_no_content() -> None:
    assert digests(*LOADED[:-1])[1] == {NAME: None}
