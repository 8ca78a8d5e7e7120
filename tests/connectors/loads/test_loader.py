"""The loader on a real broker and database."""

import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from confluent_kafka import Producer

from connectors import topic_admin
from connectors.loads import batch, rereads, signals
from connectors.loads.batch import BatchResult, Database
from connectors.loads.finished_loads import ended_scopes
from connectors.loads.kafka_sink import KafkaSink
from connectors.loads.loader import WORKERS, Loader, loads_engine
from connectors.loads.sink import Sink
from connectors.log.last_event import LastEvent
from connectors.publish.headers import RecordHeaders, RecordKind
from connectors.publish.watermark import Watermark
from hive.errors import InputError, PublishError, SourceError
from hive.names import TableName
from hive.reader.engines import unpooled_engine
from metatide.demo.options import Size
from metatide.demo.store import Store
from state.records import (
    LoadBegin,
    LoadEnd,
    LoadRows,
    Pause,
    Reread,
    ResetTable,
    Scope,
    ScopeKind,
    SetLists,
    Skip,
)
from state.records.signals import (
    LoadRequest,
    Order,
    PauseOrder,
    ResetTableOrder,
    encode_signal,
    signal_key,
)
from state.topic import Topic
from state.topic.client import topic_bounds
from tests.connectors.connector_runs import read, write_now
from tests.connectors.loads.load_topic import Topic as Folded
from tests.connectors.loads.load_topic import contents, scopes
from tests.metatide.demo.workload_runs import filled_store

SHARDS = 3
PATIENCE_S = 60


@pytest.fixture(scope="module")
def store(new_metastore_database: Callable[[], str]) -> Iterator[Store]:
    store = filled_store(
        new_metastore_database(), Size(tables=30, partitions=3_000, column_layouts=9)
    )
    yield store
    store.engine.dispose()


@pytest.fixture
def database(store: Store) -> Database:
    return Database(store.engine, store.schema)


@pytest.fixture
def events(kafka_broker: str) -> Topic:
    made = Topic(kafka_broker, f"loads-{uuid.uuid4().hex[:8]}", SHARDS)
    topic_admin.create(made)
    return made


def until(what: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not what():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def run(loader: Loader) -> None:
    loader.start(0, listens=False)
    try:
        until(lambda: loader.idle)
        assert loader.fault is None
    finally:
        loader.stop()


LoadRecord = LoadBegin | LoadRows | LoadEnd | Reread


def records(events: Topic) -> list[tuple[int, LoadRecord]]:
    """What is in the topic, shard by shard."""
    pieces: list[tuple[int, LoadRecord]] = []
    for message in read(events):
        assert isinstance(message.record, LoadRecord)
        assert message.head.kind is RecordKind.LOAD
        pieces.append((message.shard, message.record))
    return pieces


def test_a_name_that_the_database_cant_compare_is_given_up_and_nothing_is_written(
    new_database: Callable[[], str], events: Topic
) -> None:
    url = sa.make_url(new_database())
    with unpooled_engine(url.render_as_string(hide_password=False)).connect() as connection:
        connection.execution_options(isolation_level="AUTOCOMMIT").execute(
            sa.text(
                f"CREATE DATABASE {url.database}_latin ENCODING 'LATIN1' LC_COLLATE 'C' "
                "LC_CTYPE 'C' TEMPLATE template0"
            )
        )
    latin = url.set(database=f"{url.database}_latin").render_as_string(hide_password=False)
    store = Store(latin)
    bad, good = (Scope(ScopeKind.TABLE, TableName("hive", "db", name)) for name in ("t€中", "t"))
    loader = Loader(store.engine, events)
    loader.ask(LoadRequest(0, bad, 0))
    loader.ask(LoadRequest(0, good, 0))
    run(loader)
    assert loader.given_up == 1
    assert faults(loader, "refused") == 1
    refused = {"kind": "refused"}
    failed_s = loader.metrics.registry.get_sample_value("metatide_loads_failed_seconds", refused)
    assert failed_s
    assert {one.scope for _, one in records(events) if isinstance(one, LoadBegin)} == {good}
    loader.ask(LoadRequest(0, bad, 7))
    assert loader.metrics.requests.labels("rests")._value.get() == 1
    store.engine.dispose()


def test_a_table_that_cant_be_read_keeps_no_other_from_being_loaded(
    new_metastore_database: Callable[[], str], events: Topic
) -> None:
    store = filled_store(new_metastore_database(), Size(tables=6, partitions=30, column_layouts=3))
    database = Database(store.engine, store.schema)
    whole = set(scopes(database))
    with store.engine.begin() as connection:
        [(bad, db, name)] = connection.execute(
            sa.text(
                'SELECT "TBL_ID", d."NAME", "TBL_NAME" FROM "TBLS" JOIN "DBS" d USING ("DB_ID") '
                'ORDER BY "TBL_ID" LIMIT 1 OFFSET 2'
            )
        )
        columns = [one["name"] for one in sa.inspect(connection).get_columns("TBLS")]
        # What can't be read of one row, as after damage to a page.
        read = f'1 / ("TBL_ID" - {bad})'
        shown = ", ".join(f'{read} AS "{c}"' if c == "RETENTION" else f'"{c}"' for c in columns)
        connection.execute(sa.text('ALTER TABLE "TBLS" RENAME TO stored'))
        connection.execute(sa.text(f'CREATE VIEW "TBLS" AS SELECT {shown} FROM stored'))
    loader = Loader(database.engine, events)
    loader.plan()
    run(loader)
    assert loader.given_up == 1
    ended = {one.scope for _, one in records(events) if isinstance(one, LoadEnd)}
    assert ended == whole - {Scope(ScopeKind.TABLE, TableName("hive", db, name))}
    store.engine.dispose()


def test_what_a_failing_database_kept_from_being_read_again_is_read_later(
    database: Database, events: Topic, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = next(scope for scope in scopes(database) if scope.kind is ScopeKind.TABLE).name
    requests: list[dict[TableName, list[Any]]] = []

    def fail_once(
        database: Database, sink: Sink, epoch: int, wanted: dict[TableName, list[Any]], *more: Any
    ) -> int:
        requests.append(wanted)
        if len(requests) == 1:
            raise sa.exc.OperationalError("SELECT", None, Exception("the server has gone"))
        return rereads.reread(database, sink, epoch, wanted, *more)

    monkeypatch.setattr("connectors.loads.loader.reread", fail_once)
    monkeypatch.setattr(batch, "refusal", lambda _, error: batch.unreadable(error))
    loader = Loader(database.engine, events)
    loader.start(0, listens=False)
    loader.ask(LoadRequest(0, Scope(ScopeKind.OBJECTS, table), 1, objects=((),)))
    try:
        until(lambda: loader.idle and len(requests) > 1)
    finally:
        loader.stop()
    assert requests[1] == requests[0] == {table: [()]}


def test_a_load_that_fails_as_none_should_keeps_no_other_from_being_loaded(
    database: Database, events: Topic, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = scopes(database)
    bad, load = whole[2], batch.load

    def fail(
        database: Database, sink: Sink, epoch: int, some: Sequence[Scope], *more: Any
    ) -> BatchResult:
        if bad in some:
            raise ZeroDivisionError
        return load(database, sink, epoch, some, *more)

    monkeypatch.setattr(batch, "load", fail)
    loader = Loader(database.engine, events)
    loader.plan()
    run(loader)
    assert loader.given_up == 1
    ended = {one.scope for _, one in records(events) if isinstance(one, LoadEnd)}
    assert ended == {*whole} - {bad}


@pytest.mark.parametrize("kind", [ScopeKind.TABLE, ScopeKind.OBJECTS])
def test_a_load_ends_once_the_events_that_it_has_seen_are_published(
    new_metastore_database: Callable[[], str], events: Topic, kind: ScopeKind
) -> None:
    store = filled_store(new_metastore_database(), Size(tables=1, partitions=1, column_layouts=1))
    database = Database(store.engine, store.schema)
    log, sequence = (
        store.metadata.tables[name] for name in ("NOTIFICATION_LOG", "NOTIFICATION_SEQUENCE")
    )
    event = {"NL_ID": 1, "EVENT_ID": 1, "EVENT_TIME": 1, "EVENT_TYPE": "INSERT"}
    with store.engine.begin() as connection:
        connection.execute(sa.insert(log).values(event))
        connection.execute(sa.delete(sequence))
        connection.execute(sa.insert(sequence).values(NNI_ID=1, NEXT_EVENT_ID=2))
    table = next(scope for scope in scopes(database) if scope.kind is ScopeKind.TABLE)
    watermark = Watermark()
    loader = Loader(database.engine, events, watermark=watermark)
    loader.start(0, listens=False)
    loader.ask(LoadRequest(0, Scope(kind, table.name), 1, objects=((),)))
    until(lambda: len(watermark.wanted(1)) == 1)
    with store.engine.begin() as connection:
        # Another event of this number, after the database was put back to before it.
        connection.execute(sa.update(log).values(EVENT_TIME=2))
    begun = {record.load for _, record in records(events) if isinstance(record, LoadBegin)}
    assert not any(isinstance(record, LoadEnd | Reread) for _, record in records(events))
    watermark.rise(0, [1] * SHARDS)
    until(lambda: loader.idle)
    loader.stop()
    assert faults(loader, "source") == 1
    [end] = [record for _, record in records(events) if isinstance(record, LoadEnd | Reread)]
    if isinstance(end, LoadEnd):
        assert end.load not in begun
    store.engine.dispose()


def test_its_threads_keep_their_connections(store: Store, events: Topic) -> None:
    engine, logins = loads_engine(store.engine.url.render_as_string(hide_password=False)), 0

    @sa.event.listens_for(engine, "connect")
    def count(*_: object) -> None:
        nonlocal logins
        logins += 1

    loader = Loader(engine, events)
    assert len(loader.plan()) > 10
    run(loader)
    assert 1 <= logins <= WORKERS + 1
    engine.dispose()


def test_what_is_in_the_topic_folds_to_all_there_is(database: Database, events: Topic) -> None:
    loader = Loader(database.engine, events, workers=3)
    planned = loader.plan()
    run(loader)
    pieces = records(events)
    folded = Folded(0)
    assert folded.shards == SHARDS
    for shard, record in pieces:
        folded.put(shard, record)
    digests = contents(folded)
    assert None not in digests.values()
    assert len(digests) == len(planned) == loader.progress.scopes
    assert loader.progress.partitions == sum(one.partitions for one in planned) == 3_000
    assert loader.metrics.registry.get_sample_value("metatide_loads_waiting") == 0


def test_a_prewarm_goes_on_where_another_ended(database: Database, events: Topic) -> None:
    first = Loader(database.engine, events)
    some = first.plan(lambda scope: scope.kind is ScopeKind.TABLE)
    run(first)
    assert {one.scope.kind for one in some} == {ScopeKind.DATABASES, ScopeKind.NAMES}
    ended = ended_scopes(events, 0)
    assert ended == {one.scope for one in some if one.scope.kind is ScopeKind.NAMES}
    assert ended_scopes(events, 1) == set()
    second = Loader(database.engine, events)
    rest = second.plan(ended.__contains__)
    run(second)
    begun = [record.scope for _, record in records(events) if isinstance(record, LoadBegin)]
    tables = [scope for scope in begun if scope.kind is ScopeKind.TABLE]
    assert len(tables) == len(set(tables)) == 30
    assert len(rest) == 31


def test_a_prewarm_loads_again_what_a_shard_dropped_for_a_skipped_record(
    database: Database, events: Topic
) -> None:
    loader = Loader(database.engine, events)
    loader.plan()
    run(loader)
    ended = ended_scopes(events, 0)
    begun = [(shard, one) for shard, one in records(events) if isinstance(one, LoadBegin)]
    of_shard = {one.scope for shard, one in begun if shard == 1}
    last = topic_bounds(events)[1].end - 1
    order = RecordHeaders(RecordKind.CONTROL, 0)
    write_now(events, Skip(0, 0, 0), order, [1])
    assert ended_scopes(events, 0) == ended, "that was before the loads"
    write_now(events, Skip(0, last, last), order, [1])
    assert ended_scopes(events, 0) == ended - of_shard < ended


def test_a_prewarm_loads_again_what_an_order_has_deleted(database: Database, events: Topic) -> None:
    loader = Loader(database.engine, events)
    loader.plan()
    run(loader)
    ended = ended_scopes(events, 0)
    begun = [(shard, one.scope) for shard, one in records(events) if isinstance(one, LoadBegin)]
    tables = {scope for shard, scope in begun if shard == 1 and scope.kind is ScopeKind.TABLE}
    dropped = next(iter(tables))
    control = RecordHeaders(RecordKind.CONTROL, 0)
    load = KafkaSink(events, 0, lambda _: None)
    load.send(1, LoadBegin(0, "open", dropped))
    load.flush()
    write_now(events, ResetTable(0, 1, dropped.name, load=False), control, [1])
    load.send(1, LoadEnd(0, "open", dropped, 1, 1, 0))
    load.flush()
    load.close()
    assert ended_scopes(events, 0) == ended - {dropped}, "nor does a load count that was open"
    write_now(events, Pause(0, 1, paused=True), control, [1])
    assert ended_scopes(events, 0) == ended - {dropped}
    write_now(events, SetLists(0, 1, (), ("*.*",)), control, [1])
    write_now(events, SetLists(0, 2, (), ()), control, [1])
    assert ended_scopes(events, 0) == ended - tables < ended


def test_requests_are_answered_once(database: Database, events: Topic) -> None:
    table = next(scope for scope in scopes(database) if scope.kind is ScopeKind.TABLE)
    ids = Scope(ScopeKind.WRITE_IDS, table.name)
    loader = Loader(database.engine, events)
    loader.start(0)
    admin = events.admin()
    producer = Producer({"bootstrap.servers": events.servers})
    try:
        until(lambda: events.signals in admin.list_topics().topics)
        for scope, floor in ((table, 0), (table, 0), (ids, 0)):
            ask = LoadRequest(0, scope, floor)
            producer.produce(events.signals, encode_signal(ask), signal_key(ask))
            producer.flush()
            until(lambda: loader.idle)
        producer.produce(events.signals, b"junk")
        producer.flush()
        sample = loader.metrics.registry.get_sample_value

        def count(result: str) -> float:
            return sample("metatide_load_requests_received_total", {"result": result}) or 0

        until(lambda: count("unreadable") == 1)
        until(lambda: loader.idle)
        assert count("taken") + count("answered") == 3
    finally:
        loader.stop()
    begun = [record.scope for _, record in records(events) if isinstance(record, LoadBegin)]
    assert set(begun) == {table, ids}


def test_orders_that_come_while_the_database_is_away_are_written_once_it_is_back(
    database: Database, events: Topic, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that needs no database doesn't wait for those before it."""
    name = events.signals
    signals.create(events)
    orders: list[Order] = [
        *(
            ResetTableOrder(0, TableName("hive", "db", table), load=False)
            for table in ("t", "u", "v")
        ),
        PauseOrder(0, 0, paused=True),
    ]
    producer = Producer({"bootstrap.servers": events.servers})
    for order in orders:
        producer.produce(name, encode_signal(order), partition=0)
    producer.flush()
    read_last_event, is_away = Loader._last_event, True
    attempts: list[float] = []

    def last_event(loader: Loader) -> LastEvent:
        attempts.append(time.monotonic())
        if is_away:
            raise SourceError("the database is away")
        return read_last_event(loader)

    def written() -> list[str]:
        return [type(message.record).__name__ for message in read(events)]

    monkeypatch.setattr(Loader, "_last_event", last_event)
    loader = Loader(database.engine, events)
    loader.start(0)
    try:
        until(lambda: written() == ["Pause"] * SHARDS)
        until(lambda: isinstance(loader.fault, SourceError) and len(attempts) > 2)
        assert all(later - sooner > 0.1 for sooner, later in pairwise(attempts)), "one a round"
        is_away = False
        until(lambda: written().count("ResetTable") == 3)
    finally:
        loader.stop()
    again = Loader(database.engine, events)
    again.start(0)
    try:
        until(lambda: again.leads > 0)
        time.sleep(2)
    finally:
        again.stop()
    assert len(written()) == SHARDS + 3, "what was taken is committed"


def test_a_database_that_fails_is_tried_again(store: Store, events: Topic) -> None:
    nowhere = unpooled_engine(store.engine.url.set(drivername="postgresql", database="nowhere"))
    loader = Loader(nowhere, events)
    scope = Scope(ScopeKind.TABLE, TableName("hive", "db", "t"))
    loader.start(0, listens=False)
    loader.ask(LoadRequest(0, scope, 0))
    try:
        until(lambda: loader.fault is not None)
        assert not loader.idle
    finally:
        loader.stop()
    assert records(events) == []
    assert loader.metrics.registry.get_sample_value(
        "metatide_loads_faults_total", {"kind": "source"}
    )


def faults(loader: Loader, kind: str) -> float:
    value = loader.metrics.registry.get_sample_value("metatide_loads_faults_total", {"kind": kind})
    return value or 0.0


def test_a_database_that_cant_be_followed_yet_is_tried_again(
    store: Store, events: Topic, monkeypatch: pytest.MonkeyPatch
) -> None:
    def find_older(_: sa.Engine) -> Database:
        raise InputError("its schema is of a release that can't be followed")

    loader = Loader(store.engine, events)
    loader.ask(LoadRequest(0, Scope(ScopeKind.DATABASES, TableName("hive", "", "")), 0))
    with monkeypatch.context() as patches:
        patches.setattr(batch, "find_database", find_older)
        loader.start(0, listens=False)
        try:
            until(lambda: faults(loader, "source") > 2)
            assert isinstance(loader.fault, SourceError)
            patches.undo()
            until(lambda: loader.idle and loader.fault is None)
        finally:
            loader.stop()
    assert loader.progress.scopes == 1


def test_a_file_of_certificates_that_is_missing_is_waited_for(store: Store, tmp_path: Path) -> None:
    """It may be missing while it is replaced."""
    missing = tmp_path / "ca.pem"
    away = Topic(
        "127.0.0.1:1", "away", 1, {"security.protocol": "ssl", "ssl.ca.location": f"{missing}"}
    )
    loader = Loader(store.engine, away)
    loader.start(0, listens=False)
    try:
        until(lambda: faults(loader, "publish") > WORKERS)
        assert isinstance(loader.fault, PublishError)
        assert "ssl.ca.location" in str(loader.fault)
    finally:
        loader.stop()
