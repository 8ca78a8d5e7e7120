"""What the folded state of a shard says about serving it."""

import msgspec
import pytest

from hive.names import DatabaseName, table_name
from hive.thrift.binary import encode, replaced
from hive.thrift.constraints import PRIMARY_KEY
from hive.thrift.structs import DATABASE
from hive.write_ids.lists import write_id_list
from query_api.consistency import Consistency
from query_api.facts import Facts
from query_api.hot_tables import SharedReader
from query_api.positions import Position
from query_api.reasons import Reason
from query_api.requirement import Requirement
from query_api.resolver import shard_facts
from query_api.resolver.decision import decide
from query_api.resolver.shard_facts import cached_facts, read_facts
from query_api.shards import Views
from query_api.targets import Target, TargetKind, of_catalog, of_database
from state.records import AnyRecord, LoadBegin, Pause, Reset, ResetTable, Scope, ScopeKind, SetLists
from state.records.actions import (
    MISNAMED_EVENTS_MAX,
    AllocateWriteIds,
    AlterPartition,
    AlterTable,
    CommitTxn,
    CreateNames,
    CreateTable,
    DropPartitions,
    PutConstraints,
    PutName,
    PutPartitions,
    RenameTable,
    Side,
)
from state.records.objects import (
    ConstraintImage,
    ConstraintKind,
    DatabaseImage,
    NameImage,
    WriteIdsImage,
    fingerprint,
)
from state.tables import ANY_TABLE
from tests.query_api.shards import (
    ORDERS,
    ORDERS_ID,
    SALES,
    MemoryShard,
    MemoryShards,
    change,
    database_image,
    load_databases,
    load_names,
    load_table,
    partition_image,
    table_image,
)

TABLE = Target(TargetKind.TABLE, ORDERS)
PARTITIONS = Target(TargetKind.PARTITIONS, ORDERS)
CATALOG = of_catalog(TargetKind.DATABASES, "hive")


def partition(*values: str) -> Target:
    return Target(TargetKind.PARTITION, ORDERS, values)


def put(*values: str, write_id: int = 0) -> PutPartitions:
    return PutPartitions(ORDERS, write_id, (partition_image(*values),), added=True)


def facts(target: Target, *records: AnyRecord) -> Facts:
    return read_facts(MemoryShard(*records).reader(), target, with_ids=True)


REWRITE = AlterTable(table_image(), fingerprint(table_image().data), rewrites=True, truncates=False)


def test_a_created_table_is_served_whole() -> None:
    records = [change(1, CreateTable(table_image(managed=False))), change(2, put("a"))]
    for target in (TABLE, PARTITIONS, partition("a"), partition("none")):
        found = facts(target, *records)
        assert (found.refused, found.managed, found.table_id) == (None, False, ORDERS_ID)
        assert found.reached == Position(0, 2)


@pytest.mark.parametrize(
    "target",
    [
        TABLE,
        PARTITIONS,
        of_database(TargetKind.NAMES, SALES),
        CATALOG,
    ],
)
def test_what_nobody_told_is_cold(target: Target) -> None:
    found = facts(target)
    assert (found.refused, found.detail) == (Reason.COLD, "never_loaded")


def test_after_a_hidden_rewrite_only_what_an_event_wrote_since_is_served() -> None:
    records = [change(5, after=0), *load_table(5, partition_image("a")), change(6, REWRITE)]
    assert facts(TABLE, *records).refused is None
    for target in (PARTITIONS, partition("a"), partition("b")):
        table_facts = facts(target, *records)
        assert (table_facts.refused, table_facts.detail) == (Reason.COLD, "doubt: rewritten")
    records.append(change(7, put("b")))
    assert facts(partition("b"), *records).refused is None
    assert facts(partition("a"), *records).refused is Reason.COLD
    assert facts(PARTITIONS, *records).refused is Reason.COLD


def test_rows_of_a_load_that_has_not_ended_are_not_used() -> None:
    unfinished = load_table(5, partition_image("a"), ends=False)
    for target in (TABLE, PARTITIONS, partition("a")):
        assert facts(target, change(5, after=0), *unfinished).detail == "loading"


def test_a_load_ahead_of_the_events_waits_for_them() -> None:
    records = [change(4, after=0), *load_table(5, hi=6)]
    assert facts(TABLE, *records).detail == "ahead"
    assert facts(TABLE, *records, change(6, after=4)).refused is None


def test_a_broken_chain_makes_everything_cold() -> None:
    found = facts(TABLE, change(1, CreateTable(table_image())), change(9, put("a"), after=7))
    assert found.detail == "broken_chain"


def test_writes_of_open_transactions_are_pending_until_they_end() -> None:
    begin = [
        change(1, CreateTable(table_image())),
        change(2, AllocateWriteIds(ORDERS, (50,), (1,))),
    ]
    assert not facts(TABLE, *begin).pending
    written = [*begin, change(3, put("a", write_id=1))]
    assert facts(TABLE, *written).pending
    ended = facts(TABLE, *written, change(4, CommitTxn(50, None)))
    assert not ended.pending
    assert ended.write_ids is not None
    assert (ended.write_ids.hwm, [*ended.write_ids.exceptions]) == (1, [])


def test_a_drop_of_partitions_is_pending_while_ids_are_open() -> None:
    records = [
        *load_table(1, partition_image("a"), write_ids=WriteIdsImage(3, ((50, 3),), ())),
        change(2, DropPartitions(ORDERS, (("a",),)), after=0),
    ]
    assert facts(TABLE, *records).pending
    assert not facts(TABLE, *records, change(3, CommitTxn(50, None))).pending


def test_unknown_write_ids_are_none() -> None:
    records = [change(1, CreateTable(table_image())), change(2, put("a", write_id=9))]
    assert facts(TABLE, *records).write_ids is None


def test_write_ids_of_tables_outside_of_the_default_catalog_are_none() -> None:
    elsewhere = table_name("spark", ORDERS.db, ORDERS.table)
    partitions = partition_image("a", name=elsewhere), partition_image("b", name=elsewhere)
    ids = WriteIdsImage(5, (), ())
    loaded = load_table(10, *partitions, table=table_image(elsewhere), write_ids=ids)
    # The allocation of the transaction that drops the partition names no catalog.
    allocated = change(11, AllocateWriteIds(ORDERS, (106,), (6,)))
    dropped = change(12, DropPartitions(elsewhere, (("a",),)))
    records = [change(10, after=0), *loaded, allocated, dropped]
    target = Target(TargetKind.PARTITIONS, elsewhere)
    of_elsewhere = facts(target, *records)
    assert (of_elsewhere.refused, of_elsewhere.managed) == (None, True)
    requirement = Requirement(
        Consistency.WRITE_IDS, False, write_ids=write_id_list(6, [6]), table_id=ORDERS_ID
    )
    assert decide(of_elsewhere, requirement, None).reason is Reason.COLD


def test_lists_and_pauses_of_operators_are_obeyed() -> None:
    created = change(1, CreateTable(table_image()))
    assert facts(TABLE, created, SetLists(0, 1, (), ("sales.*",))).refused is Reason.EXCLUDED
    assert facts(TABLE, created, SetLists(0, 1, ("hr.*",), ())).refused is Reason.EXCLUDED
    assert facts(TABLE, created, Pause(0, 1, paused=True)).refused is Reason.PAUSED


@pytest.mark.parametrize(
    ("parameters", "table_type", "silent"),
    [
        ({}, "EXTERNAL_TABLE", False),
        ({"metadata_location": "s3://x/metadata/v1"}, "EXTERNAL_TABLE", False),
        ({"_meta.kafka.offset": "1"}, "MANAGED_TABLE", True),
        ({"repl.last.id": "4"}, "MANAGED_TABLE", True),
        ({}, "MATERIALIZED_VIEW", True),
    ],
)
def test_what_the_log_does_not_tell_of_tables(
    parameters: dict[str, str], table_type: str, silent: bool
) -> None:
    image = table_image(parameters=parameters, table_type=table_type)
    assert facts(TABLE, change(1, CreateTable(image))).silent is silent
    replicated = "repl.last.id" in parameters
    assert facts(PARTITIONS, change(1, CreateTable(image))).silent is replicated


def test_constraints_go_unsaid() -> None:
    image = ConstraintImage(ConstraintKind.PRIMARY_KEY, "pk", (encode(PRIMARY_KEY, {}),))
    added = change(2, PutConstraints(ORDERS, (image,)))
    primary, foreign, all_kinds = (
        Target(TargetKind.CONSTRAINTS, ORDERS, constraints=kind)
        for kind in (ConstraintKind.PRIMARY_KEY, ConstraintKind.FOREIGN_KEY, None)
    )
    created = change(1, CreateTable(table_image()))
    assert not any(facts(target, created).silent for target in (primary, foreign, all_kinds))
    assert facts(primary, created, added).silent
    assert facts(all_kinds, created, added).silent
    assert not facts(foreign, created, added).silent


def test_names_and_functions_of_a_database() -> None:
    records = load_names(5, NameImage("orders", "MANAGED_TABLE", "ann", None, 1))
    records.insert(0, change(5, after=0))
    names = facts(of_database(TargetKind.NAMES, SALES), *records)
    assert (names.refused, names.silent) == (None, False)
    assert facts(of_database(TargetKind.FUNCTIONS, SALES), *records).silent


@pytest.mark.parametrize("loaded_again", [False, True])
def test_names_are_silent_while_one_may_lack_its_type(loaded_again: bool) -> None:
    target = of_database(TargetKind.NAMES, SALES)
    orders, typed = (NameImage("orders", kind, "ann", None, 1) for kind in ("", "V"))
    for records in (
        [change(5, after=0), *load_names(5, orders)],
        [change(5, after=0), *load_names(5), change(6, PutName(SALES, orders))],
    ):
        assert facts(target, *records).silent
        if loaded_again:
            records += [change(7, after=5), *load_names(7, typed)]
            assert facts(target, *records) == Facts(Position(0, 7))


def test_databases_are_known_once_they_were_loaded() -> None:
    first_column = of_database(TargetKind.DATABASE, SALES)
    records = [change(5, after=0), *load_databases(5, database_image())]
    for target in (first_column, CATALOG):
        assert facts(target, *records).refused is None
    opened = LoadBegin(0, "again", Scope(ScopeKind.DATABASES, ORDERS._replace(db="", table="")))
    assert facts(first_column, *records, opened).detail == "loading"


def test_a_remote_database_may_be_gone() -> None:
    """No event tells that it was dropped."""
    image = database_image()
    remote = DatabaseImage(SALES, replaced(DATABASE, image.data, type=2))
    for database, silent in ((image, False), (remote, True)):
        records = load_databases(0, database_image(DatabaseName("hive", "default")), database)
        for target in (of_database(TargetKind.DATABASE, SALES), CATALOG):
            assert facts(target, *records).silent is silent


def test_a_catalog_without_its_first_database_may_have_got_it() -> None:
    """The first metastore that starts creates it, and no event tells of that."""
    first, other = DatabaseName("hive", "default"), DatabaseName("spark", "default")
    of_first = of_database(TargetKind.DATABASE, first)
    for databases, silent in (((), True), ((database_image(first),), False)):
        records = load_databases(0, *databases)
        for target in (of_first, CATALOG):
            assert facts(target, *records).silent is silent
    for target in (
        of_database(TargetKind.DATABASE, SALES),
        of_database(TargetKind.DATABASE, other),
        of_catalog(TargetKind.DATABASES, "spark"),
    ):
        assert not facts(target, *load_databases(0)).silent


STALE = AlterPartition(
    ORDERS,
    0,
    ("a",),
    fingerprint(b"another state"),
    partition_image("a", write_id=5),
    truncates=False,
)
"""By a writer that had not read what is held."""


def test_a_partition_in_doubt_leaves_the_others_to_be_served() -> None:
    records = [
        change(1, CreateTable(table_image(managed=False))),
        change(2, put("a")),
        change(3, put("b")),
        change(4, STALE),
    ]
    for target in (TABLE, partition("b"), partition("none")):
        assert facts(target, *records).refused is None
    for target in (PARTITIONS, partition("a")):
        doubtful = facts(target, *records)
        assert (doubtful.refused, doubtful.detail) == (Reason.COLD, "doubt: conflict")


def test_a_table_whose_row_is_in_doubt_is_not_taken_for_a_missing_one() -> None:
    image, altered = (table_image(managed=False, write_id=one) for one in (0, 5))
    stale = AlterTable(altered, fingerprint(b"another state"), rewrites=False, truncates=False)
    records = [change(1, CreateTable(image)), change(2, put("a")), change(3, stale)]
    for target in (TABLE, PARTITIONS, partition("a")):
        assert facts(target, *records).refused is Reason.COLD


@pytest.mark.parametrize("is_reset", [False, True])
def test_a_renamed_table_knows_what_it_was_called(is_reset: bool) -> None:
    old = ORDERS._replace(table="old")
    renamed = RenameTable(old, table_image(managed=False), Side.NEW)
    resets = [ResetTable(0, 1, ORDERS)] if is_reset else []
    records = [change(1, renamed), *resets, *load_table(1, table=table_image(managed=False))]
    assert facts(TABLE, *records).former_names == (old,)
    later = change(MISNAMED_EVENTS_MAX + 2, after=1)
    assert facts(TABLE, *records, later).former_names == ()


def test_a_list_knows_that_a_table_was_moved_into_its_database() -> None:
    names, functions = (
        of_database(kind, SALES) for kind in (TargetKind.NAMES, TargetKind.FUNCTIONS)
    )
    before = NameImage("old", "MANAGED_TABLE", "ann", None, 1)
    line = NameImage("orders", "MANAGED_TABLE", "ann", None, 1)
    created = change(1, CreateNames(SALES))
    renamed = change(2, PutName(SALES, line, True, before))
    assert facts(names, created, renamed).former_names == ()
    moved = change(2, PutName(SALES, line, True, None))
    assert facts(names, created, moved).former_names == (ANY_TABLE,)
    assert facts(functions, created, moved).former_names == ()
    later = change(MISNAMED_EVENTS_MAX + 3, after=2)
    assert facts(names, created, moved, later).former_names == ()


def test_after_a_skipped_record_a_table_may_have_had_any_name() -> None:
    """The record may have been its rename."""
    shard = MemoryShard(change(1))
    shard.skip()
    shard.fold([Pause(0, 1, paused=False), *load_table(1, table=table_image(managed=False))])
    assert read_facts(shard.reader(), TABLE, with_ids=True).former_names == (ANY_TABLE,)
    shard.fold([change(MISNAMED_EVENTS_MAX + 2, after=1)])
    assert read_facts(shard.reader(), TABLE, with_ids=True).former_names == ()


@pytest.mark.parametrize(
    "forgets",
    [
        [Reset(1, 1)],
        [change(3, after=2)],
        [SetLists(0, 1, (), ("sales.*",)), SetLists(0, 2, (), ())],
    ],
    ids=["an epoch", "missing events", "lists that left it out"],
)
def test_a_table_whose_renames_are_forgotten_may_have_had_any_name(
    forgets: list[AnyRecord],
) -> None:
    renamed = RenameTable(ORDERS._replace(table="old"), table_image(managed=False), Side.NEW)
    shard = MemoryShard(change(1, renamed), *forgets)
    head = shard.reader().head
    loaded = load_table(head.applied, table=table_image(managed=False))
    shard.fold([msgspec.structs.replace(record, epoch=head.epoch) for record in loaded])
    assert read_facts(shard.reader(), TABLE, with_ids=True).former_names == (ANY_TABLE,)


def test_a_table_keeps_the_names_of_several_renames() -> None:
    first, second, *more = (ORDERS._replace(table=f"old{number}") for number in range(10))
    image = table_image(managed=False)
    records = [change(1, RenameTable(second, image, Side.NEW, (first,)))]
    loaded = load_table(1, table=image)
    assert facts(TABLE, *records, *loaded).former_names == (first, second)
    many = [change(1, RenameTable(second, image, Side.NEW, (first, *more)))]
    assert ANY_TABLE in facts(TABLE, *many, *loaded).former_names


def test_few_tables_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shard_facts, "FACTS_MAX", 1)
    reader = Views(MemoryShards(MemoryShard(*load_table(1)))).reader(0)
    assert isinstance(reader, SharedReader)
    for target in (TABLE, PARTITIONS, TABLE):
        assert cached_facts(reader, target) == read_facts(reader, target, with_ids=False)
        assert list(reader.facts) == [(target.kind, ORDERS)]
