"""The tasks of a prewarm, without Spark, on a real broker and a real database."""

import secrets
import uuid
from collections.abc import Callable
from types import SimpleNamespace

import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st

from connectors import topic_admin
from connectors.loads import replica
from connectors.loads.kafka_sink import KafkaSink
from connectors.loads.plan import Planned, everything
from connectors.loads.spark import task_messages, tasks
from connectors.loads.spark.task_messages import (
    Counts,
    FinishedLoad,
    LoadPart,
    Piece,
    Reach,
    WholeLoads,
    cut,
    share_out,
)
from connectors.publish import tails
from hive.errors import PublishError, TopicError
from hive.names import table_name
from hive.reader.snapshot import open_snapshot
from hive.schema import Version
from metatide.demo.options import Size
from metatide.stack.machine import free_port
from state.records import LoadEnd, LoadRows, Scope, ScopeKind
from state.records.table_lists import TableLists
from state.topic import Topic
from state.topic.settings import RECORD_BYTES_MAX
from tests.connectors.connector_runs import Log, read
from tests.metatide.demo.workload_runs import filled_store

TABLES = 6
LISTS = TableLists()


def test_what_cannot_be_written_keeps_nothing_else_of_its_batch_out(
    kafka_broker: str, new_database: Callable[[], str]
) -> None:
    url = new_database()
    store = filled_store(url, Size(tables=TABLES, partitions=20, column_layouts=4))
    too_large = {"value": secrets.token_hex(RECORD_BYTES_MAX // 2 + 1_000)}
    with store.engine.begin() as connection:
        table = connection.execute(sa.text('SELECT min("TBL_ID") FROM "TBLS"')).scalar_one()
        statement = 'INSERT INTO "TABLE_PARAMS" VALUES (:table, :key, :value)'
        connection.execute(sa.text(statement), {"table": table, "key": "huge", **too_large})
        name = connection.execute(
            sa.text('SELECT "TBL_NAME" FROM "TBLS" WHERE "TBL_ID" = :table'), {"table": table}
        ).scalar_one()
    events = Topic(kafka_broker, f"tasks-{uuid.uuid4().hex[:8]}", 2)
    topic_admin.create(events)
    with open_snapshot(store.engine, store.schema) as snapshot:
        planned = everything(snapshot, LISTS)
    loads = tuple((plan.scope, uuid.uuid4().hex[:16]) for plan in planned)
    loaded: list[int] = []
    counts = Counts(loaded.append, lambda _: None, lambda _: None)
    reach = Reach(url, store.schema, events, 0, counts)
    list(tasks.begin(reach, loads))

    [result] = tasks.load(reach, [WholeLoads(loads, partitions=20)])

    unwritten = [scope for scope, _ in loads if scope not in result.ended]
    assert [(scope.kind, scope.name.table) for scope in unwritten] == [(ScopeKind.TABLE, name)]
    assert result.fault is not None
    assert result.fault.startswith(f"load of table {unwritten[0].name}: ")
    assert ended(events) == set(result.ended)
    assert sum(loaded) == len(loads) - 1
    store.engine.dispose()


def test_a_task_reads_nothing_older_than_the_driver_has_seen(
    kafka_broker: str, new_database: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another replica may answer it."""
    monkeypatch.setattr(replica, "WAIT_S", 0)
    url = new_database()
    store = filled_store(url, Size(tables=1, partitions=1, column_layouts=1))
    events = Topic(kafka_broker, f"tasks-{uuid.uuid4().hex[:8]}", 2)
    topic_admin.create(events)
    with open_snapshot(store.engine, store.schema) as snapshot:
        position, scopes = snapshot.position, [plan.scope for plan in everything(snapshot, LISTS)]
    store.engine.dispose()
    piece = WholeLoads(tuple((scope, uuid.uuid4().hex[:16]) for scope in scopes), partitions=1)
    counts = Counts(*[lambda _: None] * 3)
    reach = Reach(url, store.schema, events, 0, counts, reached=position)
    [reached] = tasks.load(reach, [piece])
    assert reached.fault is None
    [missed] = tasks.load(reach._replace(reached=position + 1), [piece])
    assert f"but event {position + 1} was published" in str(missed.fault)


def ended(events: Topic) -> set[Scope]:
    records = (message.record for message in read(events))
    return {record.scope for record in records if isinstance(record, LoadEnd)}


def test_any_number_of_large_tables_is_planned(new_database: Callable[[], str]) -> None:
    """PostgreSQL limits the parameters of a statement."""
    store = filled_store(new_database(), Size(tables=1, partitions=20, column_layouts=4))
    with open_snapshot(store.engine, store.schema) as snapshot:
        planned = everything(snapshot, LISTS)
        [large] = [plan.scope for plan in planned if plan.scope.kind is ScopeKind.TABLE]
        others = [
            Scope(ScopeKind.TABLE, large.name._replace(table=f"gone_{number}"))
            for number in range(65_536)
        ]
        scopes = [large, *others]
        loads = dict.fromkeys(scopes, "load")
        pieces = [*cut(snapshot, [Planned(scope, 1_000_000) for scope in scopes], loads)]
    assert [part.scope for part in pieces if isinstance(part, LoadPart)] == [large]
    assert sum(len(part.loads) for part in pieces if isinstance(part, WholeLoads)) == len(others)
    store.engine.dispose()


@pytest.mark.parametrize("is_exported", [True, False])
def test_a_table_that_is_loaded_in_parts_ends_once_all_are_written(
    kafka_broker: str,
    new_database: Callable[[], str],
    monkeypatch: pytest.MonkeyPatch,
    *,
    is_exported: bool,
) -> None:
    monkeypatch.setattr(task_messages, "BATCH_PARTITIONS_MAX", 4)
    url = new_database()
    store = filled_store(url, Size(tables=1, partitions=10, column_layouts=1))
    Log(store.engine).write(1, 2)
    events = Topic(kafka_broker, f"tasks-{uuid.uuid4().hex[:8]}", 1)
    topic_admin.create(events)
    scopes, partitions = list[int](), list[int]()
    counts = Counts(scopes.append, partitions.append, lambda _: None)
    with open_snapshot(store.engine, store.schema) as snapshot:
        [large] = [each for each in everything(snapshot, LISTS) if each.partitions > 4]
        loads = {large.scope: "load"}
        parts = list(cut(snapshot, [large], loads))
        exported = snapshot.export() if is_exported else None
        reach = Reach(url, store.schema, events, 0, counts, exported)
        list(tasks.begin(reach, loads.items()))
        results = tasks.load(reach, parts[:2]) + tasks.load(reach, parts[2:])
    assert [result.fault for result in results] == [None] * 3
    assert tasks.find_ended(events, 0, 0) == set()
    position = snapshot.position
    chunks = tuple(result.chunks for result in results)
    [last] = {result.last for result in results}
    list(tasks.end(reach, [FinishedLoad(large.scope, "load", position, last, chunks)]))
    assert tasks.find_ended(events, 0, 0) == {large.scope}
    assert last.hash is not None
    assert tails.find(events).published == {(position, last.hash)}
    assert ([ended for ended in scopes if ended], sum(partitions)) == ([1], 10)
    rows = [message.record for message in read(events) if isinstance(message.record, LoadRows)]
    assert sum(len(record.rows.tables) for record in rows) == 1
    assert sum(len(record.rows.partitions) for record in rows) == large.partitions == 10
    store.engine.dispose()


PART = LoadPart(Scope(ScopeKind.TABLE, table_name(None, "d", "t")), "load", 7, 3, 9, 0, 1, 5, 6)


def test_a_task_that_runs_again_or_can_not_read_says_which_load_is_void(
    kafka_broker: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"postgresql://nobody@127.0.0.1:{free_port()}/none"
    topic = Topic(kafka_broker, "tasks", 1)
    reach = Reach(url, Version.V4_1, topic, 0, Counts(*[lambda _: None] * 3))
    what = "load of table hive.d.t, PART_ID 3 to 9, after event 5: "
    pieces: list[Piece] = [PART, WholeLoads(((PART.scope, "load"),), 1)]
    results = tasks.load(reach, pieces)
    assert [result.piece for result in results] == pieces
    for result, begin in zip(results, (what, "load of table"), strict=True):
        assert result.fault is not None
        assert result.fault.startswith(begin)
        assert "can't be read" in result.fault
    again = SimpleNamespace(attemptNumber=lambda: 1)
    monkeypatch.setattr("pyspark.TaskContext.get", lambda: again)
    [voided] = tasks.load(reach, [PART])
    assert voided.fault == f"{what}a task failed, or its executor was lost: see Spark's log"


def test_brokers_that_take_nothing_void_all_pieces_of_a_task(
    kafka_broker: str, new_database: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    url = new_database()
    store = filled_store(url, Size(tables=4, partitions=1, column_layouts=1))
    events = Topic(kafka_broker, f"tasks-{uuid.uuid4().hex[:8]}", 2)
    topic_admin.create(events)
    with open_snapshot(store.engine, store.schema) as snapshot:
        scopes = [plan.scope for plan in everything(snapshot, LISTS)]
    store.engine.dispose()
    pieces = [WholeLoads(((scope, uuid.uuid4().hex[:16]),), 1) for scope in scopes]
    ended = list[int]()
    reach = Reach(url, store.schema, events, 0, Counts(ended.append, *[lambda _: None] * 2))

    def refused(sink: KafkaSink) -> None:
        raise PublishError("the brokers took nothing")

    monkeypatch.setattr(KafkaSink, "flush", refused)
    results = tasks.load(reach, pieces)
    assert [result.piece for result in results] == pieces
    assert {result.ended for result in results} == {()}
    assert all(str(result.fault).endswith(": the brokers took nothing") for result in results)
    assert ended == []


def test_a_topic_that_cannot_be_written_at_all_voids_them_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refused(*_: object) -> None:
        raise TopicError("there is no ticket")

    monkeypatch.setattr(KafkaSink, "__init__", refused)
    url, topic = "postgresql://nobody@127.0.0.1:1/none", Topic("127.0.0.1:1", "tasks", 1)
    reach = Reach(url, Version.V4_1, topic, 0, Counts(*[lambda _: None] * 3))
    results = tasks.load(reach, [PART, PART])
    assert [result.fault for result in results] == [f"{PART.what}: there is no ticket"] * 2


@given(st.lists(st.integers(0, 5_000), max_size=300), st.integers(1, 64))
def test_tasks_are_of_about_equal_size(sizes: list[int], slots: int) -> None:
    pieces = [PART._replace(first=number, partitions=size) for number, size in enumerate(sizes)]
    shares = share_out(pieces, slots)
    assert sorted(piece for share in shares for piece in share) == sorted(pieces)
    assert all(shares)
    assert len(shares) >= min(len(pieces), 4 * slots)
    assert all(len(share) <= 20 for share in shares)
    totals = [sum(piece.partitions for piece in share) for share in shares]
    assert max(totals, default=0) - min(totals, default=0) <= max(sizes, default=0)
