"""Audits of RocksDB stores that folded what a real metastore did, against its database."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple

import pytest
import sqlalchemy as sa

from hive.names import DatabaseName, TableName
from hive.reader.engines import unpooled_engine
from hive.schema import detect, metadata
from hive.thrift.binary import decode, encode, replaced
from hive.thrift.statistics import COLUMN_STATISTICS_OBJ
from hive.thrift.structs import PARTITION, TABLE
from hive.thrift.types import Struct, string, strings
from hive.write_ids.tracker import WriteIdTracker
from query_api.audit import totals
from query_api.audit.scopes import known_scopes
from query_api.shards import Views
from state import entries, keys
from state.records import Scope, ScopeKind
from state.records.objects import ConstraintKind
from state.records.routing import home_shard, table_shard
from state.store import Identity, MemoryBudget, Store
from state.store.families import SHARD_FAMILIES, STORE_FORMAT
from state.stored_values import ANALYZED_BYTES
from state.write_id_pages import PrefixPages
from tests.query_api.audit.shard_audits import audited, differences
from tests.query_api.thrift.methods import caches, contents, wire
from tests.query_api.thrift.methods.histories import History
from tests.support.hive.metastore import Instances
from tests.support.processes import open_folder

pytestmark = [pytest.mark.hive, pytest.mark.by_turns(2, of="metastores")]
KEPT = "audit_kept"
CHANGED = "audit_a", "audit_b"
SHARDS = 2
FIGURES = TableName("hive", KEPT, "figures")
WRITTEN = FIGURES._replace(table="written")
DELETED = Struct(
    "DeleteColumnStatisticsRequest",
    (2, "db_name", string),
    (3, "tbl_name", string),
    (4, "part_names", strings),
    (5, "col_names", strings),
)
"""The IDL of Hive 4.0 lacks it."""

Found = dict[tuple[str, str], tuple[list[str], str | None]]
"""By table and object: the fields that differ, or the only side that has it."""


class World(NamedTuple):
    """A metastore, and stores of its cache."""

    url: str
    history: History
    cache: caches.Cache
    stores: tuple[Store, ...]

    @property
    def scopes(self) -> list[Scope]:
        """Those of our databases: others change theirs as they like."""
        return [
            scope
            for scope in known_scopes(Views(self.cache.source))
            if scope.name.db in (KEPT, *CHANGED)
        ]

    def wrong(self) -> Found:
        audits = audited(self.url, self.cache.source, self.scopes)
        return {
            (scope.name.table, difference.object): (
                [] if difference.only_in else [field.field for field in difference.fields],
                difference.only_in,
            )
            for scope, difference in differences(audits)
        }

    def store_of(self, table: TableName) -> Store:
        return self.stores[table_shard(table, SHARDS)]


@pytest.fixture(scope="module")
def world(metastore: Instances) -> Iterator[World]:
    """After a random workload and a load of everything, and some more of the workload."""
    budget = MemoryBudget(32 << 20)
    with ExitStack() as stack:
        folder = stack.enter_context(open_folder())
        stores = []
        for number in range(SHARDS):
            identity = Identity(
                format_version=STORE_FORMAT, topic_id="audit", partitions=SHARDS, shard=number
            )
            path = folder / str(number)
            store = Store(path, identity, families=SHARD_FAMILIES, budget=budget)
            stack.callback(store.close)
            stores.append(store)
        client = stack.enter_context(metastore.connect())
        contents.fill(client, KEPT)
        client.add_not_null(client.table(KEPT, "figures"), "id", "nn_audit")
        client.create_function(KEPT, "lower_tide", "org.example.LowerTide")
        history = History(client, CHANGED, seed=11)
        history.go_on(40)
        cache = stack.enter_context(caches.following(metastore.database_url, stores))
        cache.load()
        history.go_on(40)
        cache.follow()
        yield World(metastore.database_url, history, cache, tuple(stores))


def test_nothing_is_found_after_a_random_workload(world: World) -> None:
    audits = audited(world.url, world.cache.source, world.scopes)
    assert differences(audits) == []
    together = totals(audits)
    assert (together.objects.wrong, together.scopes.wrong) == (0, 0)
    assert together.objects.seen > 40
    assert (together.objects.nines or 0) > 1


def test_nothing_is_found_while_the_metastore_is_ahead(world: World) -> None:
    """What it changed since is left out, and all else is compared as of now."""
    world.history.go_on(15)
    audits = audited(world.url, world.cache.source, world.scopes)
    assert differences(audits) == []
    assert "behind" in {why for one in audits for why in one.left_out.values()}
    of_figures = [one for one in audits if one.scope == Scope(ScopeKind.TABLE, FIGURES)]
    assert of_figures[0].objects > 15
    assert of_figures[0].position is not None
    assert of_figures[0].position.event > world.cache.current
    world.cache.follow()
    assert world.wrong() == {}


@contextmanager
def spoilt(world: World, changes: dict[bytes, bytes | None], table: TableName) -> Iterator[None]:
    """The store of a table with other entries; afterwards as it was."""
    store, before = world.store_of(table), dict[bytes, bytes | None]()
    write(store, changes, before)
    try:
        yield
    finally:
        write(store, before, {})


def write(
    store: Store, changes: dict[bytes, bytes | None], before: dict[bytes, bytes | None]
) -> None:
    txn = store.transaction()
    for key, value in changes.items():
        before[key] = txn.get(key)
        if value is None:
            txn.delete(key)
        else:
            txn.put(key, value)
    store.commit(txn, store.position)


def entry(world: World, table: TableName, key: bytes) -> bytes:
    value = world.store_of(table).snapshot().get(key)
    assert value is not None
    return value


def with_data(value: bytes, data: bytes) -> bytes:
    """An entry of other bytes, as of the same event."""
    return value[: entries.HEADER_SIZE] + data


def owner_changed(world: World) -> dict[bytes, bytes | None]:
    key = keys.of_table(keys.TABLE, FIGURES)
    value = entry(world, FIGURES, key)
    return {key: with_data(value, replaced(TABLE, entries.data_of(value), owner="mallory"))}


def partition_moved(world: World) -> dict[bytes, bytes | None]:
    key = keys.partition(FIGURES, ("2", "eu"))
    value = entry(world, FIGURES, key)
    fields: Any = decode(PARTITION, entries.data_of(value))
    fields["sd"]["location"] = "file:/elsewhere"
    fields["parameters"]["note"] = "new"
    return {key: with_data(value, encode(PARTITION, fields))}


def partition_lost(_: World) -> dict[bytes, bytes | None]:
    return {keys.partition(FIGURES, ("10", "us")): None}


def partition_risen(world: World) -> dict[bytes, bytes | None]:
    value = entry(world, FIGURES, keys.partition(FIGURES, ("1", "eu")))
    data = replaced(PARTITION, entries.data_of(value), values=["77", "eu"])
    return {keys.partition(FIGURES, ("77", "eu")): with_data(value, data)}


def figures_changed(world: World) -> dict[bytes, bytes | None]:
    key = keys.partition_statistics(FIGURES, ("3", "us_east"), "hive", "id")
    value = entry(world, FIGURES, key)
    stored = entries.data_of(value)
    analyzed, data = stored[:ANALYZED_BYTES], stored[ANALYZED_BYTES:]
    fields: Any = decode(COLUMN_STATISTICS_OBJ, data)
    fields["statsData"]["longStats"]["numNulls"] += 1
    return {key: with_data(value, analyzed + encode(COLUMN_STATISTICS_OBJ, fields))}


def figures_lost(_: World) -> dict[bytes, bytes | None]:
    return {keys.partition_statistics(FIGURES, ("3", "us_east"), "hive", "name"): None}


def constraint_lost(_: World) -> dict[bytes, bytes | None]:
    return {keys.constraint(FIGURES, "nn_audit", ConstraintKind.NOT_NULL): None}


def a_commit_that_never_was(world: World) -> dict[bytes, bytes | None]:
    prefix = keys.of_table(keys.WRITE_IDS, WRITTEN)
    txn = world.store_of(WRITTEN).transaction()
    ids = WriteIdTracker(PrefixPages(txn, prefix))
    ids.alloc(ids.position + 1, [(10**9, ids.hwm + 1)])
    ids.commit(ids.position + 1, 10**9, None)
    return dict(txn.changes)


STORE_FAULTS: tuple[
    tuple[Callable[[World], dict[bytes, bytes | None]], TableName, str, list[str], str | None], ...
] = (
    (owner_changed, FIGURES, "table", ["owner"], None),
    (
        partition_moved,
        FIGURES,
        "partition n=2/s=eu",
        ["sd.location", "parameters.note"],
        None,
    ),
    (partition_lost, FIGURES, "partition n=10/s=us", [], "database"),
    (partition_risen, FIGURES, "partition n=77/s=eu", [], "cache"),
    (
        figures_changed,
        FIGURES,
        "statistics of column id by hive of partition n=3/s=us_east",
        ["statsData.longStats.numNulls"],
        None,
    ),
    (
        figures_lost,
        FIGURES,
        "statistics of column name by hive of partition n=3/s=us_east",
        [],
        "database",
    ),
    (constraint_lost, FIGURES, "not_null nn_audit", [], "database"),
    (a_commit_that_never_was, WRITTEN, "write ids", ["writeIdHighWaterMark"], None),
)


def test_every_fault_in_a_store_is_found_and_nothing_else(world: World) -> None:
    with ExitStack() as stack:
        for fault, table, *_ in STORE_FAULTS:
            stack.enter_context(spoilt(world, fault(world), table))
        differing = world.wrong()
    assert differing == {
        (table.table, label): (fields, only_in) for _, table, label, fields, only_in in STORE_FAULTS
    }
    assert world.wrong() == {}


def test_a_lost_name_and_a_lost_function_are_found(world: World) -> None:
    db = DatabaseName("hive", KEPT)
    store = world.stores[home_shard(db, SHARDS)]
    lost: dict[bytes, bytes | None] = {
        keys.name(db, "mat"): None,
        keys.function(db, "lower_tide"): None,
    }
    before: dict[bytes, bytes | None] = {}
    write(store, lost, before)
    try:
        differing = world.wrong()
    finally:
        write(store, before, {})
    # The log is silent about functions, so that one isn't held against the cache.
    assert differing == {("", "name mat"): ([], "database")}


@contextmanager
def behind_its_back(engine: sa.Engine, statement: sa.Update, undo: sa.Update) -> Iterator[None]:
    with engine.begin() as connection:
        assert connection.execute(statement).rowcount == 1
    try:
        yield
    finally:
        with engine.begin() as connection:
            assert connection.execute(undo).rowcount == 1


def test_every_row_changed_by_sql_is_found_and_nothing_else(world: World) -> None:
    engine = unpooled_engine(world.url)
    with engine.connect() as connection:
        version = detect(connection)
    assert version is not None
    tables = metadata(version).tables
    dbs, tbls, parts, figures = (
        tables[name] for name in ("DBS", "TBLS", "PARTITIONS", "PART_COL_STATS")
    )
    sds, ids = tables["SDS"], tables["NEXT_WRITE_ID"]
    db = sa.select(dbs.c.DB_ID).where(dbs.c.NAME == KEPT).scalar_subquery()

    def table(name: str) -> Any:
        of_table = sa.and_(tbls.c.DB_ID == db, tbls.c.TBL_NAME == name)
        return sa.select(tbls.c.TBL_ID).where(of_table).scalar_subquery()

    def partition(column: sa.Column[Any], name: str) -> Any:
        of_partition = sa.and_(parts.c.TBL_ID == table("figures"), parts.c.PART_NAME == name)
        return sa.select(column).where(of_partition).scalar_subquery()

    columns = (
        (tbls.c.LAST_ACCESS_TIME, tbls.c.TBL_ID == table("bucketed")),
        (parts.c.CREATE_TIME, parts.c.PART_ID == partition(parts.c.PART_ID, "n=1/s=eu")),
        (sds.c.OUTPUT_FORMAT, sds.c.SD_ID == partition(parts.c.SD_ID, "n=2/s=eu")),
        (
            figures.c.NUM_NULLS,
            sa.and_(
                figures.c.PART_ID == partition(parts.c.PART_ID, "n=3/s=us_east"),
                figures.c.COLUMN_NAME == "ratio",
            ),
        ),
        (ids.c.NWI_NEXT, sa.and_(ids.c.NWI_DATABASE == KEPT, ids.c.NWI_TABLE == "written")),
    )
    with ExitStack() as stack:
        stack.callback(engine.dispose)
        for column, where in columns:
            with engine.connect() as connection:
                [before] = connection.scalars(sa.select(column).where(where))
            after = before + 1 if isinstance(before, int) else f"{before}X"
            change, undo = (
                sa.update(column.table).where(where).values({column: value})
                for value in (after, before)
            )
            stack.enter_context(behind_its_back(engine, change, undo))
        differing = world.wrong()
    assert differing == {
        ("bucketed", "table"): (["lastAccessTime"], None),
        ("figures", "partition n=1/s=eu"): (["createTime"], None),
        ("figures", "partition n=2/s=eu"): (["sd.outputFormat"], None),
        ("figures", "statistics of column ratio by hive of partition n=3/s=us_east"): (
            ["statsData.doubleStats.numNulls"],
            None,
        ),
        ("written", "write ids"): (["writeIdHighWaterMark"], None),
    }
    assert world.wrong() == {}


def test_statistics_that_are_deleted_without_an_event_are_found(
    world: World, metastore: Instances
) -> None:
    """As those of all columns are by an empty list of columns."""
    request = {
        "db_name": KEPT,
        "tbl_name": FIGURES.table,
        "part_names": ["n=2/s=eu"],
        "col_names": [],
    }
    arguments = encode(Struct("arguments", (1, "req", DELETED)), {"req": request})
    with metastore.connect() as client:
        before = client.position()
        with wire.connect(metastore.addresses[0]) as raw:
            raw.call("delete_column_statistics_req", arguments)
        assert client.position() == before
    world.cache.follow()
    assert world.wrong() == {
        ("figures", f"statistics of column {column} by hive of partition n=2/s=eu"): ([], "cache")
        for column in ("id", "name", "ratio")
    }
    world.cache.load()
    assert world.wrong() == {}
