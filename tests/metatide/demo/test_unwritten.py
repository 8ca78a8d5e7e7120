"""What writers leave be, and how they end; without a database."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from typing import Any

import pymysql
import pytest
from pymysql.constants.ER import LOCK_DEADLOCK, NO_SUCH_TABLE

from hive.errors import DeadlockError
from hive.reader.engines import unpooled_engine
from hive.schema import Version, metadata
from metatide.demo import databases, ddl, partitions, sessions, tables
from metatide.demo.bulk import fill
from metatide.demo.changes import Change
from metatide.demo.drivers import MySql, Statement
from metatide.demo.ids import Ids
from metatide.demo.options import Limits, Size
from metatide.demo.pace import Pace
from metatide.demo.records import Record
from metatide.demo.sessions import WriterSession
from metatide.demo.workload import DATABASES, Style, Workload
from tests.metatide.demo.workload_runs import SMALL


class Memory:
    """A sink that takes note of what it is given."""

    def __init__(self) -> None:
        self.writes: list[tuple[Sequence[Change], Sequence[Record]]] = []
        self.closed = False

    def open_transactions(self, count: int, now_ms: int) -> list[int]:
        return list(range(count))

    def write(self, changes: Sequence[Change], records: Sequence[Record]) -> None:
        self.writes.append((changes, records))

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def sink() -> Memory:
    return Memory()


@pytest.fixture
def workload(sink: Memory) -> Workload:
    return Workload(Ids(lambda *_: 1), lambda: sink, Version.V4_1, SMALL, Style(seed=7))


def run_out(script: Iterator[None]) -> None:
    for _ in script:
        pass


def test_a_catalog_without_partitions_is_filled_with_tables_alone(sink: Memory) -> None:
    size = Size(tables=3, partitions=0)
    workload = Workload(Ids(lambda *_: 1), lambda: sink, Version.V4_1, size, Style(seed=7))
    assert [*fill(workload)] == []
    assert len(sink.writes) == DATABASES + 1
    assert sink.closed


def test_a_run_that_ends_while_it_is_prepared_makes_no_tables(
    workload: Workload, sink: Memory
) -> None:
    pace = Pace(Limits())
    pace.end()
    workload.prepare(pace)
    assert [record.EVENT_TYPE for _, [record] in sink.writes] == ["CREATE_DATABASE"] * DATABASES
    assert sink.closed


def test_a_run_that_ends_among_the_tables_makes_no_partitions(
    workload: Workload, sink: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    pace, put = Pace(Limits()), workload.catalog.put

    def put_last(place: int, table: Any) -> None:
        put(place, table)
        if table.keys:
            pace.end()

    monkeypatch.setattr(workload.catalog, "put", put_last)
    workload.prepare(pace)
    events = [record.EVENT_TYPE for _, records in sink.writes for record in records]
    assert "CREATE_TABLE" in events
    assert "ADD_PARTITION" not in events


def test_ctrl_c_ends_the_writers(workload: Workload, monkeypatch: pytest.MonkeyPatch) -> None:
    pace = Pace(Limits())
    workload.prepare(pace)
    pace.begin(workload.events)
    join, joined = threading.Thread.join, list[threading.Thread]()

    def interrupted(thread: threading.Thread) -> None:
        joined.append(thread)
        if len(joined) == 1:
            raise KeyboardInterrupt
        join(thread)

    monkeypatch.setattr(threading.Thread, "join", interrupted)
    workload.run(2, pace)
    assert not any(thread.is_alive() for thread in joined)
    assert len(set(joined)) == 2


def test_a_table_that_another_writer_holds_or_changes_is_left_be(
    workload: Workload, sink: Memory
) -> None:
    workload.prepare(Pace(Limits()))
    actor, catalog = workload.actor(1), workload.catalog
    tables = [table for table in catalog._places if table is not None]
    written = len(sink.writes)
    # Each fits no more once it is held.
    with catalog.hold(actor.rng, lambda table: not table.lock.locked()) as table:
        assert table is None
    assert not any(table.lock.locked() for table in tables)
    with catalog.hold_again(tables):
        run_out(ddl.drop_table(actor))
    assert len(sink.writes) == written


def test_a_database_that_another_writer_holds_is_left_be(workload: Workload, sink: Memory) -> None:
    workload.prepare(Pace(Limits()))
    written = len(sink.writes)
    with ExitStack() as stack:
        for database in workload.catalog.databases:
            stack.enter_context(database.lock)
        run_out(ddl.change_database(workload.actor(1)))
    assert len(sink.writes) == written


def test_partitions_that_the_target_has_are_not_exchanged(workload: Workload, sink: Memory) -> None:
    workload.prepare(Pace(Limits()))
    written = len(sink.writes)
    with workload.catalog.hold(workload.actor(1).rng, lambda t: bool(t.partitions)) as table:
        assert table is not None
        before = dict(table.partitions)
        partitions.exchange(workload.actor(2), table, table)
        assert table.partitions == before
    assert len(sink.writes) == written


@pytest.mark.parametrize("is_dropped", [False, True])
def test_nothing_is_exchanged_into_a_table_that_is_gone(
    workload: Workload, sink: Memory, is_dropped: bool
) -> None:
    workload.prepare(Pace(Limits()))
    tables = [table for table in workload.catalog._places if table is not None]
    written = len(sink.writes)
    script = ddl.exchange(workload.actor(1))
    next(script)
    for table in tables:
        table.dropped = is_dropped
    run_out(script)
    events = [record.EVENT_TYPE for _, records in sink.writes[written:] for record in records]
    assert {"CREATE_TABLE", "ADD_PARTITION", "DROP_TABLE"} <= set(events)
    assert ("DROP_PARTITION" in events) != is_dropped


def test_a_table_with_many_partitions_keeps_its_name(
    workload: Workload, sink: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    workload.prepare(Pace(Limits()))
    written = len(sink.writes)
    with workload.catalog.hold(workload.actor(1).rng) as table:
        assert table is not None
        name = table.name
        monkeypatch.setattr(tables, "RENAMED_PARTITIONS_MAX", len(table.partitions) - 1)
        ddl.rename(workload.actor(2), table, None)
    assert (table.name, len(sink.writes)) == (name, written)


def test_a_database_has_a_limited_number_of_functions(workload: Workload, sink: Memory) -> None:
    actor = workload.actor(1)
    database = databases.create(actor, "d")
    for _ in range(databases.FUNCTIONS_MAX + 1):
        databases.create_function(actor, database)
    assert len(database.functions) == databases.FUNCTIONS_MAX
    assert len(sink.writes) == 1 + databases.FUNCTIONS_MAX


class Deadlocked:
    """A driver of a database that ends every transaction."""

    last_id: Statement = ("", ())

    def __init__(self) -> None:
        self.runs = 0

    def run(self, statements: Sequence[Statement]) -> list[int]:
        self.runs += 1
        raise DeadlockError("deadlock")

    def close(self) -> None: ...


def test_a_writer_gives_up_after_many_deadlocks(monkeypatch: pytest.MonkeyPatch) -> None:
    driver = Deadlocked()
    monkeypatch.setattr(sessions, "connect", lambda _: driver)
    session = WriterSession(unpooled_engine("postgresql://host/db"), metadata(Version.V4_1))
    with pytest.raises(DeadlockError):
        session.write([], [])
    assert driver.runs == 10


@pytest.mark.parametrize(
    ("code", "kind"),
    [(LOCK_DEADLOCK, DeadlockError), (NO_SUCH_TABLE, pymysql.OperationalError)],
)
def test_mysql_tells_a_deadlock_from_other_errors(code: int, kind: type[Exception]) -> None:
    class Cursor:
        def execute(self, _: str) -> None: ...

        def executemany(self, *_: object) -> None:
            raise pymysql.OperationalError(code, "no")

    class Connection:
        cursor: Callable[[], Cursor] = Cursor

    with pytest.raises(kind):
        MySql(Connection()).run([("SELECT 1", ({},))])
