"""Runs as a whole: event ids, determinism, limits, several runs in one database."""

import threading
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import func, select

from hive.errors import InputError
from hive.reader.engines import unpooled_engine
from hive.schema import Version, create
from metatide.demo import prefill
from metatide.demo.bulk import fill
from metatide.demo.ids import Ids
from metatide.demo.objects import USUAL_WAREHOUSE
from metatide.demo.options import Limits, Size
from metatide.demo.pace import Pace
from metatide.demo.sessions import Sink
from metatide.demo.store import Store
from metatide.demo.workload import Style, Workload
from tests.metatide.demo import deadlocks, workload_runs
from tests.metatide.demo.row_model import RowModel
from tests.support.hive import hms_objects as objects
from tests.support.hive.metastore import Instances

pytestmark = [pytest.mark.slow, pytest.mark.by_turns(2, of="demo")]


def test_an_observer_of_four_writers_never_sees_a_hole(new_database: Callable[[], str]) -> None:
    store = Store(new_database())
    ended = threading.Event()
    observed: list[tuple[int, int]] = []

    def observe() -> None:
        events = store.metadata.tables["NOTIFICATION_LOG"].c.EVENT_ID
        with store.engine.connect() as connection:
            while not ended.is_set():
                count, last = connection.execute(select(func.count(), func.max(events))).one()
                observed.append((count, last or 0))
                connection.rollback()

    observer = threading.Thread(target=observe)
    observer.start()
    try:
        workload_runs.write(store, 800, writers=4)
    finally:
        ended.set()
        observer.join()
    assert len({count for count, _ in observed}) > 10
    assert all(count == last for count, last in observed)
    ids = [row.EVENT_ID for row in workload_runs.rows(store)]
    assert ids == list(range(1, len(ids) + 1))
    with store.engine.connect() as connection:
        sequence = store.metadata.tables["NOTIFICATION_SEQUENCE"]
        assert connection.scalar(select(sequence.c.NEXT_EVENT_ID)) == len(ids) + 1


def test_one_seed_gives_one_log(new_metastore_database: Callable[[], str]) -> None:
    first, again, other = (Store(new_metastore_database()) for _ in range(3))
    workload_runs.write(first, 500, seed=1)
    workload_runs.write(again, 500, seed=1)
    workload_runs.write(other, 500, seed=2)
    assert workload_runs.rows(first) == workload_runs.rows(again)
    assert workload_runs.rows(first) != workload_runs.rows(other)


def test_a_second_run_works_in_databases_of_its_own(new_database: Callable[[], str]) -> None:
    url = new_database()
    workload_runs.write(Store(url), 100)
    between = len(workload_runs.log(Store(url)))
    workload_runs.write(Store(url), 100)
    events = workload_runs.log(Store(url))
    names = [{event.database for event in part} for part in (events[:between], events[between:])]
    assert names[0] & names[1] == {None}


def test_a_fill_writes_rows_of_the_size_asked_for_and_no_events(
    new_metastore_database: Callable[[], str],
) -> None:
    store = Store(new_metastore_database())
    size = Size(tables=50, partitions=5_000, column_layouts=7)
    *_, written = fill(Workload(store.ids, store.session, store.schema, size, Style()))
    assert written == 5_000
    stored = RowModel(store)
    assert len(stored.tables) == 50
    assert sum(map(len, stored.partitions.values())) == 5_000
    columns = {str(table["7"]["1"]) for table in stored.tables.values()}
    assert 1 < len(columns) <= 7
    assert workload_runs.rows(store) == []


def test_a_log_alone_has_the_events_but_not_the_rows(
    new_metastore_database: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prefill, "RECORDS_AT_ONCE", 400)
    store = Store(new_metastore_database())
    store.log_only().close()
    for _ in range(2):
        workload = Workload(store.ids, store.log_only, store.schema, workload_runs.SMALL, Style())
        pace = Pace(Limits(events=500))
        pace.begin(0)
        workload.prepare(pace)
        workload.run(1, pace)
    events = workload_runs.log(store)
    assert [event.id for event in events] == list(range(1, len(events) + 1))
    assert len(events) >= 1_000
    opened = [event.message["fromTxnId"] for event in events if event.type == "OPEN_TXN"]
    assert len(opened) == len(set(opened))
    assert RowModel(store).tables == {}


def test_a_writer_that_fails_ends_the_run_and_says_why(new_database: Callable[[], str]) -> None:
    store = Store(new_database())
    sinks: list[Sink] = []

    def session() -> Sink:
        sinks.append(store.session())
        return sinks[-1]

    workload = Workload(store.ids, session, store.schema, workload_runs.SMALL, Style())
    pace = Pace(Limits())
    workload.prepare(pace)
    with store.engine.begin() as connection:
        store.metadata.tables["TXN_TO_WRITE_ID"].drop(connection)
    pace.begin(workload.events)
    with pytest.raises(Exception, match="TXN_TO_WRITE_ID"):
        workload.run(2, pace)


def test_a_schema_before_4_0_is_refused(new_database: Callable[[], str]) -> None:
    url = new_database()
    create(unpooled_engine(url), Version.V3_1)
    with pytest.raises(InputError, match=r"3\.1\.0.*another database"):
        Store(url)


@pytest.mark.parametrize("size", [{"tables": 0}, {"partitions": -1}, {"skew": 9.0}])
def test_sizes_have_limits(size: dict[str, int]) -> None:
    with pytest.raises(InputError, match="give between"):
        Size(**size)


@given(st.integers(0, 200), st.integers(0, 100_000), st.floats(0, 5))
def test_all_partitions_are_shared_out(count: int, partitions: int, skew: float) -> None:
    size = Size(tables=10, partitions=partitions, skew=skew)
    workload = Workload(Ids(lambda *_: 1), unopened, Version.V4_1, size, Style())
    shares = workload.shares(count)
    assert len(shares) == count
    assert sum(shares) == (partitions if count else 0)
    # The first is the largest, up to rounding.
    assert all(share <= shares[0] + 1 for share in shares)


def unopened() -> Sink:
    raise AssertionError


def test_a_deadlock_costs_nothing(new_metastore_database: Callable[[], str]) -> None:
    deadlocks.check_that_it_is_begun_anew(Store(new_metastore_database()))


def test_the_warehouse_of_an_empty_database_is_a_usual_one(
    new_metastore_database: Callable[[], str],
) -> None:
    assert Store(new_metastore_database()).warehouse == USUAL_WAREHOUSE


@pytest.mark.hive
def test_databases_are_where_the_metastore_would_have_put_them(metastore: Instances) -> None:
    store = Store(metastore.database_url)
    size = Size(tables=1, partitions=0)
    workload = Workload(
        store.ids, store.session, store.schema, size, Style(warehouse=store.warehouse)
    )
    workload.prepare(Pace(Limits()))
    ours = workload.catalog.databases[0]
    with metastore.connect() as client:
        client.create_database("beside")
        database = client.rpc.get_database("beside")
        table = client.create_table(objects.table("beside", "events", {"id": "bigint"}))
    assert database.locationUri == ours.location.replace(ours.name, "beside")
    managed = ours.managed_location.replace(ours.name, "beside")
    assert table.sd.location == f"{managed}/events"
