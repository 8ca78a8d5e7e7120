"""That no statement of ours reads a large table whole to find a few rows, or is compiled.

What is judged is how the server executed what the parts really sent, on a log of a million events
and a catalog of a million partitions: with and without statistics, with plans made for each
execution and kept ones.
"""

import asyncio
from collections.abc import Iterator

import pytest
import sqlalchemy as sa
from psycopg import sql

from connectors.loads import batch
from connectors.loads.chunks import Load
from connectors.log.sql_source import SqlSource
from hive.filters.bounds import Span
from hive.names import DatabaseName, TableName
from hive.reader.engines import unpooled_engine
from hive.reader.snapshot import open_snapshot
from hive.schema import create
from metatide.doctor import log, metastore
from metatide.doctor.target import Target
from metatide.stack.postgres import connect
from query_api.database import DatabaseObjects, bounded_engine
from query_api.database.listener import has_unlogged_transactions
from query_api.latest import SequenceReader, read_tail, sequence_reader
from query_api.latest.sequence import Tail
from state.records import AnyRecord, Scope, ScopeKind
from tests.support.databases import large_catalog, plans
from tests.support.databases.large_catalog import BIG, EVENTS, VERSION
from tests.support.databases.plans import Plan
from tests.support.databases.stock_postgres import NewStockDatabase

pytestmark = pytest.mark.stock

TIMES = 12
"""psycopg prepares what comes the sixth time, and the server may then keep a plan after five."""
ROWS_READ_MAX = 20_000
"""More than any of the questions below is about."""


def tables(*numbers: int) -> list[TableName]:
    return [TableName("hive", f"db{1 + n % 100}", f"t{n}") for n in numbers]


TABLES = tables(1, 2, 3)
DB = DatabaseName("hive", "db7")


@pytest.fixture(scope="module")
def url(new_stock_database: NewStockDatabase) -> str:
    url = new_stock_database()
    large_catalog.fill(url)
    return url


class NoTopic:
    """Takes what a load brings."""

    shards = 4

    def send(self, shard: int, record: AnyRecord, row_hash: bytes | None = None) -> None:
        pass

    def flush(self) -> None:
        pass


def follow(url: str) -> None:
    """A connector at rest, after some events, and at the beginning of the log."""
    source = SqlSource(unpooled_engine(url))
    for _ in range(TIMES):
        assert source.poll(EVENTS, EVENTS).rows == []
        assert len(source.poll(EVENTS - 40, EVENTS - 40).rows) == 40
    for _ in range(TIMES):
        assert source.poll(0, 0).rows
        assert source.bounds(EVENTS - 10).next == EVENTS - 9
        assert source.open_transactions().txns
        assert list(source.alters(EVENTS - 10))
    source.close()


class Latest:
    """Reads the end of the log as the event loop of a worker would."""

    def __init__(self, engine: sa.Engine) -> None:
        self._runner = asyncio.Runner()
        self._reader: SequenceReader = sequence_reader(engine, lambda: VERSION)

    def read(self, first: int, messages_after: int) -> Tail:
        return self._runner.run(self._reader.read(first, messages_after))

    def close(self) -> None:
        self._runner.run(self._reader.close())
        self._runner.close()


def read_latest(url: str) -> None:
    """What requests wait for."""
    engine = bounded_engine(url, connections=1, statement_timeout_ms=5000)
    latest = Latest(engine)
    for _ in range(TIMES):
        assert latest.read(EVENTS + 1, EVENTS) == (EVENTS, [])
    for first in (EVENTS - 10, EVENTS - 40, 0):
        for _ in range(TIMES):
            assert latest.read(first, EVENTS - 20).rows
    latest.close()
    engine.dispose()


def answer(url: str) -> None:
    """What the cache doesn't answer, and what audits compare."""
    engine = bounded_engine(url, connections=1, statement_timeout_ms=60_000)
    for _ in range(TIMES):
        with open_snapshot(engine, VERSION) as snapshot:
            read_tail(snapshot, EVENTS - 5)
            objects = DatabaseObjects(snapshot)
            assert len(objects.tables(TABLES)) == 3
            assert objects.table_ids(TABLES)
            assert len(list(objects.names(DB))) == 100
            assert list(objects.names_of("hive", ["db1", "db2"]))
            table = TABLES[0]
            names = objects.partition_names(table, ["p"], [])
            assert len(names) == 100
            values = [(name.removeprefix("p="),) for name in names]
            assert objects.partition(table, values[0])
            assert len(objects.partitions(table, values)) == 100
            assert len(list(objects.partition_values(table, [values[0][0]], None))) == 1
            assert len(list(objects.partition_values(table, [], [Span(values[0])]))) == 1
            assert list(objects.table_statistics(table))
            assert list(objects.partition_statistics(table, values))
            assert list(objects.constraints(table))
            assert objects.database(DB)
            assert len(list(objects.databases("hive"))) == 100
            assert list(objects.functions(DB)) == []
            assert objects.catalogs() == ["hive"]
            assert len(objects.recent_events(100)) == 100
            assert objects.valid_write_ids(TABLES, objects.txns())
    engine.dispose()


def load(url: str) -> None:
    """What a connector loads, and what a task of Spark's does."""
    database = batch.find_database(unpooled_engine(url))
    nameless = TableName("hive", "", "")
    scopes = [
        Scope(ScopeKind.DATABASES, nameless),
        Scope(ScopeKind.NAMES, nameless._replace(db="db7")),
        *(Scope(ScopeKind.TABLE, name) for name in TABLES),
        *(Scope(ScopeKind.WRITE_IDS, name) for name in TABLES),
    ]
    many = [Scope(ScopeKind.TABLE, name) for name in tables(*range(100, 200))]
    batch.load(database, NoTopic(), 0, scopes)
    batch.load(database, NoTopic(), 0, many)
    with open_snapshot(database.engine, VERSION) as snapshot:
        load = Load(NoTopic(), 0, "load", scopes[2])
        load.read_at(snapshot.position)
        batch.read_table_alone(snapshot, load)
        batch.read_stretch(snapshot, load, 2, 1, EVENTS // 4, lambda _: None)


def examine(url: str) -> None:
    """What looks at all of the newest events is told to."""
    with unpooled_engine(url).connect() as connection:
        has_unlogged_transactions(connection, VERSION)
    target = Target(None, "", 1, url, None)
    log.complete(target)
    metastore.one_transaction(target)


def judge(plan: Plan) -> Iterator[tuple[str, str]]:
    if plan.is_compiled:
        yield "is compiled", plan.statement
    for table in BIG:
        if plan.reads_whole(table):
            yield f"reads all of {table}", plan.statement
        elif (rows := plan.rows_read(table)) > ROWS_READ_MAX:
            yield f"reads {rows} rows of {table}", plan.statement


@pytest.mark.by_turns(4)
@pytest.mark.parametrize("statistics", [False, True], ids=["unknown", "known"])
@pytest.mark.parametrize("cache_mode", ["auto", "force_generic_plan"])
def test_statements_find_by_keys_and_are_not_compiled(
    url: str, statistics: bool, cache_mode: str
) -> None:
    with connect(sa.make_url(url)) as connection:
        large_catalog.know(connection, statistics=statistics)
        database = sql.Identifier(connection.info.dbname)
        connection.execute(
            sql.SQL("ALTER DATABASE {} SET plan_cache_mode = {}").format(
                database, sql.Literal(cache_mode)
            )
        )
    with plans.recorded() as executed:
        for work in (follow, read_latest, answer, load):
            work(url)
    faults = {fault for plan in executed for fault in judge(plan)}
    assert not faults
    for table in BIG:
        assert any(plan.rows_read(table) for plan in executed), f"nothing was asked about {table}"


def test_what_looks_at_all_events_is_not_compiled(url: str) -> None:
    with plans.recorded() as executed:
        examine(url)
    assert sum(plan.rows_read("NOTIFICATION_LOG") for plan in executed) > EVENTS
    assert not [plan.statement for plan in executed if plan.is_compiled]


def test_a_plan_for_a_short_log_is_not_kept_for_a_long_one(
    new_stock_database: NewStockDatabase,
) -> None:
    url = new_stock_database()
    engine = unpooled_engine(url)
    create(engine, VERSION)
    source = SqlSource(unpooled_engine(url))
    latest = Latest(unpooled_engine(url))
    with plans.recorded() as executed, connect(sa.make_url(url)) as connection:
        large_catalog.know(connection, statistics=False)
        for _ in range(TIMES):
            assert source.poll(0, 0).rows == []
            assert latest.read(1, 0).rows == []
        large_catalog.add_events(connection, 200_000)
        executed.clear()
        for _ in range(TIMES):
            assert len(source.poll(199_990, 199_990).rows) == 10
            assert len(latest.read(199_990, 199_990).rows) == 11
    source.close()
    latest.close()
    assert len(executed) >= 2 * TIMES
    assert {fault for plan in executed for fault in judge(plan)} == set()
