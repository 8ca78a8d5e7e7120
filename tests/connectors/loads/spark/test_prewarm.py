"""A prewarm on Spark, on a real broker and real databases, while writers work."""

import json
import random
import threading
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import sqlalchemy as sa
from click.testing import CliRunner

from connectors import topic_admin
from connectors.loads import replica
from connectors.loads.batch import Database, load
from connectors.loads.kafka_sink import KafkaSink
from connectors.loads.plan import Planned, everything
from connectors.publish.headers import RecordHeaders, RecordKind
from hive.errors import SourceError
from hive.reader.snapshot import DatabaseSnapshot, open_snapshot
from metatide.cli import root
from metatide.demo import script_mix
from metatide.demo.bulk import fill
from metatide.demo.options import Limits, Size
from metatide.demo.pace import Pace
from metatide.demo.store import Store
from metatide.demo.workload import Style, Workload
from state.records import (
    Change,
    LoadBegin,
    LoadEnd,
    LoadRows,
    Scope,
    ScopeKind,
    databases_scope,
    names_scope,
)
from state.records.table_lists import TableLists
from state.topic import Topic
from tests.connectors.connector_runs import read, write_now
from tests.connectors.loads.load_topic import SHARDS, Log, contents, differences
from tests.connectors.loads.load_topic import Topic as Folded
from tests.support.engines.spark import USES_SPARK

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [*USES_SPARK, pytest.mark.by_turns(4, of="Spark")]
TABLES, PARTITIONS = 12, 600
STRETCH = 200
"""A table with more is read in parts."""


@pytest.fixture(scope="module")
def store(new_database: Callable[[], str]) -> Iterator[Store]:
    store = filled(new_database())
    yield store
    store.engine.dispose()


def filled(url: str) -> Store:
    store = Store(url)
    size = Size(TABLES, PARTITIONS, column_layouts=9)
    for _ in fill(Workload(store.ids, store.session, store.schema, size, Style())):
        pass
    return store


@pytest.fixture
def events(kafka_broker: str, monkeypatch: pytest.MonkeyPatch) -> Topic:
    from connectors.loads.spark import task_messages

    monkeypatch.setattr(task_messages, "BATCH_PARTITIONS_MAX", STRETCH)
    # Each task has several pieces.
    monkeypatch.setattr(task_messages, "_TASKS_A_SLOT", 1)
    made = Topic(kafka_broker, f"spark-{uuid.uuid4().hex[:8]}", SHARDS)
    topic_admin.create(made)
    return made


def plan(store: Store) -> list[Planned]:
    with open_snapshot(store.engine, store.schema) as snapshot:
        return everything(snapshot, TableLists())


def prewarm(
    spark: "SparkSession",
    store: Store,
    events: Topic,
    count: Callable[[int], None] | None = None,
) -> list[Planned]:
    from connectors.loads.spark.prewarm import Progress
    from connectors.loads.spark.prewarm import prewarm as run
    from connectors.loads.spark.task_messages import Reach

    planned = plan(store)
    progress = Progress(spark.sparkContext)
    counts = progress.counts
    if count is not None:
        counts = counts._replace(partitions=count)
    url = store.engine.url.render_as_string(hide_password=False)
    plain = url.replace("+psycopg", "").replace("+pymysql", "")
    reach = Reach(plain, store.schema, events, 0, counts)
    run(spark.sparkContext, reach, planned)
    assert progress.scopes == len(planned)
    assert progress.bytes > 100 * len(planned)
    return planned


def folded(events: Topic) -> Folded:
    found = Folded(0)
    for message in read(events):
        found.put(message.shard, message.record)
    return found


def ends(events: Topic) -> list[LoadEnd]:
    return [one.record for one in read(events) if isinstance(one.record, LoadEnd)]


def test_it_is_what_loads_here_are_and_no_row_passes_the_driver(
    spark: "SparkSession", store: Store, events: Topic, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = Rows(monkeypatch)
    planned = prewarm(spark, store, events)
    parts = sum(1 for one in read(events) if isinstance(one.record, LoadRows))
    assert rows.count < 3 * TABLES + 2 * PARTITIONS // STRETCH + 20 < PARTITIONS
    assert parts > len(planned)
    ended = ends(events)
    assert all(end.lo == end.hi for end in ended)
    assert len({end.lo for end in ended}) == 1
    local = Folded(0)
    load(Database(store.engine, store.schema), local, 0, [one.scope for one in planned])
    assert None not in contents(folded(events)).values()
    assert contents(folded(events)) == contents(local)


class Rows:
    """Counts what this process reads from the database, and refuses that it writes the topic."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        whole, stream = DatabaseSnapshot.rows, DatabaseSnapshot.stream

        def rows(snapshot: DatabaseSnapshot, *arguments: Any) -> Any:
            found = whole(snapshot, *arguments)
            self.count += len(found)
            return found

        def streamed(snapshot: DatabaseSnapshot, *arguments: Any) -> Any:
            for found in stream(snapshot, *arguments):
                self.count += len(found)
                yield found

        def send(*_: Any) -> None:
            raise AssertionError("the driver writes the topic")

        monkeypatch.setattr(DatabaseSnapshot, "rows", rows)
        monkeypatch.setattr(DatabaseSnapshot, "stream", streamed)
        monkeypatch.setattr(KafkaSink, "send", send)


def test_the_loads_of_a_lost_executor_begin_anew(
    spark: "SparkSession", store: Store, events: Topic, tmp_path: Path
) -> None:
    died = tmp_path / "died"

    def dying(_: int) -> None:
        import os

        try:
            died.touch(exist_ok=False)
        except FileExistsError:
            return
        os._exit(1)

    planned = prewarm(spark, store, events, dying)
    assert died.exists()
    local = Folded(0)
    load(Database(store.engine, store.schema), local, 0, [one.scope for one in planned])
    assert contents(folded(events)) == contents(local)


def test_what_goes_wrong_is_said_with_the_table_and_the_event(
    spark: "SparkSession", store: Store, events: Topic
) -> None:
    def fails(_: int) -> None:
        raise SourceError("the database is gone")

    where = r"load of table \S+, PART_ID \d+ to \d+, after event \d+: the database is gone; "
    with pytest.raises(SourceError, match=where + r"\d+ loads didn't end: run it again"):
        prewarm(spark, store, events, fails)


def test_a_replica_that_does_not_catch_up_is_refused(
    spark: "SparkSession", store: Store, events: Topic, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replica, "WAIT_S", 0)
    changed = RecordHeaders(RecordKind.CHANGE, 0, 1_000_000)
    write_now(events, Change(0, 0, 1_000_000, ()), changed, [1])
    with pytest.raises(SourceError, match="but event 1000000 was published: if it is a replica"):
        prewarm(spark, store, events)
    assert ends(events) == []


def test_tables_that_change_meanwhile_end_as_the_database_has_them(
    spark: "SparkSession", new_database: Callable[[], str], events: Topic
) -> None:
    changing(spark, filled(new_database()), events)
    assert all(end.lo == end.hi for end in ends(events))


@pytest.mark.mariadb
def test_without_a_shared_snapshot_too(
    spark: "SparkSession", new_mariadb_database: Callable[[], str], events: Topic
) -> None:
    changing(spark, filled(new_mariadb_database()), events)
    found = ends(events)
    assert any(end.lo < end.hi for end in found)


def changing(spark: "SparkSession", store: Store, events: Topic) -> None:
    """Writers work all the time; the log comes among the loads wherever chance puts it."""
    log = Log(store.engine, store.schema)
    size = Size(TABLES, 40, column_layouts=4)
    workload = Workload(store.ids, store.session, store.schema, size, Style(seed=7))
    workload.prepare(Pace(Limits()))
    begun_at = log.position()
    ended = threading.Event()

    def write() -> None:
        actor = workload.actor(1)
        steps = script_mix.steps(actor)
        while not ended.is_set():
            next(steps)
        actor.sink.close()

    writer = threading.Thread(target=write)
    writer.start()
    try:
        prewarm(spark, store, events)
    finally:
        ended.set()
        writer.join()
    position = log.position()
    assert position > begun_at
    rows = [row for row in log.after(begun_at) if row.event_id <= position]
    for seed in range(3):
        check(store, events, begun_at, rows, position, random.Random(seed))
    log.close()
    store.engine.dispose()


def check(
    store: Store,
    events: Topic,
    begun_at: int,
    rows: list[Any],
    position: int,
    rng: random.Random,
) -> None:
    records = sorted(read(events), key=lambda one: not isinstance(one.record, LoadBegin))
    begins = sum(isinstance(one.record, LoadBegin) for one in records)
    lo = min(end.lo for end in ends(events))
    merged = Folded(begun_at)
    # What happens after the snapshot is published after every Begin: these are acknowledged before.
    chosen = sorted(rng.choices(range(len(records) + 1), k=len(rows)))
    cuts = [
        cut if row.event_id <= lo else max(cut, begins)
        for cut, row in zip(chosen, rows, strict=True)
    ]
    done = 0
    for place, message in enumerate(records):
        while done < len(rows) and cuts[done] <= place:
            merged.publish([rows[done]])
            done += 1
        merged.put(message.shard, message.record)
    merged.publish(rows[done:], position)
    fresh = Folded(position)
    database = Database(store.engine, store.schema)
    load(database, fresh, 0, [one.scope for one in plan(store)])
    cold = cold_scopes(merged)
    assert len(cold) < len(contents(fresh))
    assert differences(merged, fresh) - {label_of(scope) for scope in cold} == set()
    load(database, merged, 0, sorted(cold, key=str))
    assert differences(merged, fresh) == set()


def cold_scopes(folded: Folded) -> set[Scope]:
    """What events during the loads cast doubt on: workers ask for loads of these."""
    scopes = set()
    for reader in folded.readers():
        applied, floor = reader.head.applied, reader.head.floor
        for db in reader.database_names():
            loads = reader.names_loads(db)
            if loads is None or loads.cold(applied, floor):
                scopes.add(names_scope(db))
        for catalog in reader.catalogs():
            loads = reader.databases_loads(catalog)
            if loads is None or loads.cold(applied, floor):
                scopes.add(databases_scope(catalog))
        for name in reader.table_names():
            state = reader.state(name)
            assert state is not None
            if state.loads.cold(applied, floor) or state.statistics_cold(applied, floor):
                scopes.add(Scope(ScopeKind.TABLE, name))
    return scopes


def label_of(scope: Scope) -> str:
    name = scope.name
    match scope.kind:
        case ScopeKind.TABLE:
            return f"table {name}"
        case ScopeKind.DATABASES:
            return f"databases {name.catalog}"
    return f"names {name.catalog}.{name.db}"


def test_the_command_goes_on_where_another_ended(
    spark: "SparkSession", store: Store, events: Topic, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("METATIDE_KAFKA_TOPIC", events.name)
    monkeypatch.setenv("METATIDE_KAFKA_PARTITIONS", str(events.shards))
    url = sa.make_url(store.engine.url).set(drivername="postgresql")
    # A command takes it out of the environment.
    secrets = {"METATIDE_DATABASE_URL": url.render_as_string(hide_password=False)}

    def run(*options: str) -> int:
        arguments = ["prewarm", "--kafka", events.servers, "--engine", "spark", *options]
        result = CliRunner(env=secrets).invoke(root, arguments)
        assert result.exit_code == 0, result.output
        said = json.loads(result.stdout.splitlines()[-1])
        # The databases are loaded each time.
        assert said["loads"] >= 1
        assert said["bytes"] > 100 * said["loads"]
        return int(said["partitions"])

    first = run("--tables", "*_0.*")
    assert 0 < first < PARTITIONS
    assert first + run() == PARTITIONS
    assert run() == 0
