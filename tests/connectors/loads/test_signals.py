"""From a worker that misses a table, through the signals topic, to a worker that has it."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from confluent_kafka import KafkaError, TopicPartition

import connectors.loads.loader
from connectors import topic_admin
from connectors.loads import signals
from connectors.loads.batch import Database
from connectors.loads.loader import Loader
from connectors.loads.signals import SignalsConsumer
from connectors.log.last_event import LastEvent
from connectors.orders import OrderWriter
from hive.errors import PublishError, SourceError
from hive.names import TableName
from metatide.demo.options import Size
from metatide.demo.store import Store
from processors.worker.coldness import why_cold
from processors.worker.worker import Worker
from state.loads import Cold
from state.records import (
    AnyRecord,
    Change,
    LoadBegin,
    LoadEnd,
    Scope,
    ScopeKind,
    names_scope,
)
from state.records.routing import home_shard, table_shard
from state.records.signals import (
    AnySignal,
    LoadRequest,
    NewEpochOrder,
    PauseOrder,
    ResetTableOrder,
    encode_signal,
)
from state.shard_reader import ShardReader
from state.topic import Topic, TopicClient
from tests.connectors.connector_runs import new_topic, read, reset_now
from tests.connectors.loads.load_topic import scopes
from tests.connectors.loads.loading import connecting
from tests.metatide.demo.workload_runs import filled_store
from tests.processors.worker.in_process import until, working
from tests.support.kafka.topics import delete_before, write

SHARDS = 2
FEW = Size(tables=3, partitions=30, column_layouts=3)


def warm(worker: Worker, table: TableName) -> bool:
    snapshot = worker.snapshot(table_shard(table, SHARDS))
    if snapshot is None:
        return False
    reader = ShardReader(snapshot)
    state = reader.state(table)
    return state is not None and not state.loads.cold(reader.head.applied, reader.head.floor)


async def test_what_no_metastore_holds_is_never_loaded(
    new_metastore_database: Callable[[], str], kafka_broker: str, tmp_path: Path
) -> None:
    store, events = Store(new_metastore_database()), new_topic(kafka_broker, SHARDS)
    topic_admin.create(events)
    unstorable = TableName("hive", "default", "a\0b")
    too_long = TableName("hive", "default", "x" * 2_000_000)
    wanted = names_scope(unstorable.database)

    with connecting(store.engine, events) as loader:
        async with working(TopicClient(events.servers, events.name).describe(), tmp_path) as worker:
            for table in (too_long, unstorable):
                worker.ask(table_shard(table, SHARDS), Scope(ScopeKind.TABLE, table), 0)
            refused = loader.metrics.requests.labels("refused")
            await until(lambda: refused._value.get() == 1)
            worker.ask(table_shard(wanted.name, SHARDS), wanted, 0)
            await until(lambda: any(isinstance(one, LoadEnd) for one in records(events)))
    begun = {record.scope for record in records(events) if isinstance(record, LoadBegin)}
    assert begun == {wanted}


def test_once_there_is_a_topic_of_events_the_signals_topic_has_all_its_partitions(
    new_metastore_database: Callable[[], str], kafka_broker: str
) -> None:
    """A worker that wrote to one that isn't there would have the brokers create it."""
    store, events = Store(new_metastore_database()), new_topic(kafka_broker, SHARDS)
    admin = events.admin()
    with connecting(store.engine, events):
        while events.name not in (topics := admin.list_topics(timeout=30).topics):
            pass
    assert len(topics[events.signals].partitions) == SHARDS


def records(events: Topic) -> list[AnyRecord]:
    return [message.record for message in read(events)]


async def test_what_a_worker_misses_becomes_warm(
    new_metastore_database: Callable[[], str], kafka_broker: str, tmp_path: Path
) -> None:
    store, events = filled_store(new_metastore_database(), FEW), new_topic(kafka_broker, SHARDS)
    wanted, other, *_ = (
        one.name
        for one in scopes(Database(store.engine, store.schema))
        if one.kind is ScopeKind.TABLE
    )
    topic_admin.create(events)

    with connecting(store.engine, events):
        async with working(TopicClient(events.servers, events.name).describe(), tmp_path) as worker:
            assert not warm(worker, wanted)
            worker.ask(table_shard(wanted, SHARDS), Scope(ScopeKind.TABLE, wanted), 0)
            await until(lambda: warm(worker, wanted))
            assert not warm(worker, other)
            await until(lambda: worker.load_requests_waiting == 0)


async def test_an_order_that_fails_as_none_should_keeps_no_load_from_coming(
    new_metastore_database: Callable[[], str],
    kafka_broker: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store, events = Store(new_metastore_database()), new_topic(kafka_broker, SHARDS)
    wanted = TableName("hive", "default", "t")
    failed = []

    def fail(*order: object) -> None:
        failed.append(order)
        raise ZeroDivisionError

    monkeypatch.setattr(OrderWriter, "write", fail)
    monkeypatch.setattr(connectors.loads.loader, "_RETRY_S_MAX", 0.1)
    topic_admin.create(events)
    with connecting(store.engine, events):
        async with working(TopicClient(events.servers, events.name).describe(), tmp_path) as worker:
            await worker.order(NewEpochOrder(0))
            await until(lambda: len(failed) > 0)
            worker.ask(table_shard(wanted, SHARDS), Scope(ScopeKind.TABLE, wanted), 0)
            await until(lambda: any(isinstance(one, LoadEnd) for one in records(events)))


async def test_a_gap_that_a_forged_record_claims_is_loaded_in_vain_until_an_epoch_begins(
    new_metastore_database: Callable[[], str], kafka_broker: str, tmp_path: Path
) -> None:
    store, events = filled_store(new_metastore_database(), FEW), new_topic(kafka_broker, SHARDS)
    wanted = next(
        scope.name
        for scope in scopes(Database(store.engine, store.schema))
        if scope.kind is ScopeKind.TABLE
    )
    shard, ask = table_shard(wanted, SHARDS), Scope(ScopeKind.TABLE, wanted)
    topic_admin.create(events)

    with connecting(store.engine, events) as loader:
        topic = TopicClient(events.servers, events.name).describe()
        async with working(topic, tmp_path) as worker:

            def vain() -> float:
                return loader.metrics.registry.get_sample_value("metatide_loads_vain_total") or 0

            worker.ask(shard, ask, 0)
            await until(lambda: warm(worker, wanted))
            write(topic, {shard: [Change(0, 1 << 61, (1 << 61) + 1)]})
            await until(lambda: vain() > 0)
            assert not warm(worker, wanted)
            await worker.order(NewEpochOrder(0))

            def warm_for_reader() -> bool:
                worker.ask(shard, ask, 0)
                return warm(worker, wanted)

            await until(warm_for_reader)
            assert worker.shards[shard].position.epoch == 1


async def test_an_epoch_that_the_topic_lost_is_followed_by_another(
    new_metastore_database: Callable[[], str], kafka_broker: str, tmp_path: Path
) -> None:
    store, events = Store(new_metastore_database()), new_topic(kafka_broker, SHARDS)
    topic_admin.create(events)
    wanted = names_scope(TableName("hive", "default", "t").database)
    shard = home_shard(wanted.name.database, SHARDS)

    def loaded(worker: Worker) -> bool:
        snapshot = worker.snapshot(shard)
        assert snapshot is not None
        return why_cold(ShardReader(snapshot), wanted, Cold.NEVER_LOADED) is None

    async with working(TopicClient(events.servers, events.name).describe(), tmp_path) as worker:
        with connecting(store.engine, events):
            reset_now(events, 1, LastEvent(0), range(SHARDS))
            await until(lambda: all(s.position.epoch == 1 for s in worker.shards.values()))
        for number in range(SHARDS):
            delete_before(events, number, -1)
        with connecting(store.engine, events):
            worker.ask(shard, wanted, 0)
            await until(lambda: all(s.position.epoch == 2 for s in worker.shards.values()))
            await until(lambda: loaded(worker))
    ends = [record for record in records(events) if isinstance(record, LoadEnd)]
    assert {end.epoch for end in ends if end.scope == wanted} == {2}


def test_an_epoch_that_nobody_can_have_begun_is_not_requested(
    new_metastore_database: Callable[[], str], kafka_broker: str
) -> None:
    loader = Loader(Store(new_metastore_database()).engine, new_topic(kafka_broker, SHARDS))
    scope = names_scope(TableName("hive", "default", "t").database)
    for epoch in (1 << 62, 3, 2):
        loader.ask(LoadRequest(epoch, scope, 0))
    assert loader.requested_epoch == 3


class Message(NamedTuple):
    """A message of the first partition."""

    place: int
    signal: AnySignal
    fault: KafkaError | None = None

    def partition(self) -> int:
        return 0

    def offset(self) -> int:
        return self.place

    def value(self) -> bytes:
        return encode_signal(self.signal)

    def error(self) -> KafkaError | None:
        return self.fault


class Messages:
    """A consumer of messages without brokers."""

    def __init__(self, *messages: Message) -> None:
        self.waiting = list(messages)
        self.stored = 0

    def poll(self, _: float) -> Message | None:
        return self.waiting.pop(0) if self.waiting else None

    def consume(self, _: int, __: float) -> list[Message]:
        taken, self.waiting = self.waiting, []
        return taken

    def assignment(self) -> list[TopicPartition]:
        return []

    def store_offsets(self, offsets: list[TopicPartition]) -> None:
        self.stored = offsets[0].offset


PAUSE = PauseOrder(0, 0, paused=True)
RESET = ResetTableOrder(0, TableName("hive", "db", "t"), load=False)
REQUEST = LoadRequest(0, Scope(ScopeKind.TABLE, TableName("hive", "db", "t")), 0)


def consumer_of(messages: Messages, monkeypatch: pytest.MonkeyPatch) -> SignalsConsumer:
    monkeypatch.setattr(signals, "create", lambda _: None)
    monkeypatch.setattr(signals, "join_group", lambda *_: messages)
    return SignalsConsumer(Topic("nowhere", "events", 1))


def test_with_too_many_signals_that_failed_no_others_are_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(signals, "_UNTAKEN_MAX", 2)
    messages = Messages(Message(0, RESET), Message(1, RESET))
    consumer, taken, is_away = consumer_of(messages, monkeypatch), list[int](), True

    def take(_: AnySignal, offset: int) -> None:
        if is_away:
            raise SourceError("the database is away")
        taken.append(offset)

    consumer.read(take, pytest.fail)
    messages.waiting = [Message(2, RESET)]
    assert isinstance(consumer.read(take, pytest.fail), SourceError)
    assert (len(messages.waiting), messages.stored) == (1, 0)
    is_away = False
    for _ in range(2):
        assert consumer.read(take, pytest.fail) is None
    assert (taken, messages.stored) == ([0, 1, 2], 3)


def test_while_brokers_take_nothing_orders_wait_for_the_first_and_requests_do_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    messages = Messages(Message(0, PAUSE), Message(1, RESET), Message(2, REQUEST))
    tried = list[AnySignal]()

    def take(signal: AnySignal, _: int) -> None:
        tried.append(signal)
        if signal != REQUEST:
            raise PublishError("no broker takes it")

    fault = consumer_of(messages, monkeypatch).read(take, pytest.fail)
    assert isinstance(fault, PublishError)
    assert tried == [PAUSE, REQUEST]


def test_an_error_that_the_library_gets_over_is_no_signal(monkeypatch: pytest.MonkeyPatch) -> None:
    passing = KafkaError(KafkaError._ALL_BROKERS_DOWN)
    messages, taken = Messages(Message(0, PAUSE, passing), Message(1, PAUSE)), list[int]()
    consumer = consumer_of(messages, monkeypatch)
    assert consumer.read(lambda _, offset: taken.append(offset), pytest.fail) is None
    assert taken == [1]
