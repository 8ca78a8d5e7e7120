"""From a database to the topic, without faults."""

import time
from collections.abc import Callable

import pytest
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourceType,
)
from confluent_kafka.cimpl import NewTopic
from structlog.testing import capture_logs

from connectors.log.sql_source import SqlSource
from connectors.publish import tails
from connectors.publish.headers import RecordKind
from connectors.settings import Pace
from hive.names import table_name
from hive.reader.engines import unpooled_engine
from hive.schema import Version, create
from metatide.demo.store import Store
from state.records import Change, OpenTransactions
from state.records.actions import CommitTxn
from state.records.routing import table_shard
from state.topic import Topic
from state.topic.creation import create_missing
from tests.connectors.connector_runs import (
    QUICK,
    Log,
    assert_unbroken,
    changes,
    connecting,
    new_topic,
    read,
)
from tests.metatide.demo import workload_runs


@pytest.fixture(
    params=["new_database", pytest.param("new_mariadb_database", marks=pytest.mark.mariadb)],
    ids=["postgresql", "mariadb"],
)
def url(request: pytest.FixtureRequest) -> str:
    new_database: Callable[[], str] = request.getfixturevalue(request.param)
    return new_database()


def test_a_log_is_published_whole_and_in_order(url: str, kafka_broker: str) -> None:
    store, topic = Store(url), new_topic(kafka_broker)
    workload_runs.write(store, 300, writers=2)
    with connecting(SqlSource(store.engine), topic) as connector:
        connector.until_position(len(workload_runs.rows(store)))
        workload_runs.write(store, 300, writers=2)
        last = len(workload_runs.rows(store))
        connector.until_position(last)
    messages = read(topic)
    assert assert_unbroken(messages, topic) == last
    assert connector.value("faults_total", kind="undecodable") == 0
    for shard in range(topic.shards):
        uptos = [change.upto for change in changes(messages, shard)]
        assert uptos == sorted(set(uptos))


def limited(broker: str, **limits: str) -> Topic:
    """A topic that somebody has made with these settings."""
    topic = new_topic(broker, 1)
    settings = {"retention.ms": "-1"} | {name.replace("_", "."): v for name, v in limits.items()}
    create_missing(topic, NewTopic(topic.name, topic.shards, 1, config=settings))
    return topic


def test_a_topic_that_loses_records_is_said_once_with_the_remedy(
    new_database: Callable[[], str], kafka_broker: str
) -> None:
    log, topic = Log(unpooled_engine(new_database())), limited(kafka_broker, retention_ms="3600000")
    log.write(1, 2, 3)
    with capture_logs() as lines, connecting(SqlSource(log.engine), topic, QUICK) as connector:
        connector.until_position(3)
    [line] = [line for line in lines if line["log_level"] == "error"]
    assert line["settings"] == "retention.ms=3600000"
    command = f"kafka-configs.sh --alter --topic {topic.name} --add-config retention.ms=-1"
    assert line["remedy"] == command


def test_a_compacted_topic_is_waited_for_until_it_is_altered(
    new_database: Callable[[], str], kafka_broker: str
) -> None:
    log = Log(unpooled_engine(new_database()))
    topic = limited(kafka_broker, cleanup_policy="compact")
    log.write(1, 2, 3)
    with connecting(SqlSource(log.engine), topic, QUICK) as connector:
        connector.until(lambda: "is compacted" in str(connector.status.waits_for))
        command = (
            f"kafka-configs.sh --alter --topic {topic.name} --add-config cleanup.policy=delete"
        )
        assert str(connector.status.waits_for).endswith(command)
        entry = ConfigEntry("cleanup.policy", "delete", incremental_operation=AlterConfigOpType.SET)
        altered = ConfigResource(ResourceType.TOPIC, topic.name, incremental_configs=[entry])
        admin = topic.admin()
        admin.incremental_alter_configs([altered])[altered].result(30)
        connector.until_position(3)


def test_the_end_of_an_unknown_transaction_goes_to_every_shard_at_once(
    url: str, kafka_broker: str
) -> None:
    log, topic = Log(unpooled_engine(url)), new_topic(kafka_broker)
    log.write(1, 2, 3)
    with connecting(SqlSource(log.engine), topic) as connector:
        connector.until_position(3)
    messages = read(topic)
    for shard in range(topic.shards):
        effective = [change for change in changes(messages, shard) if change.actions]
        assert [(one.after, one.upto) for one in effective] == [(0, 1), (1, 2), (2, 3)]
        assert [one.actions for one in effective] == [(CommitTxn(n, None),) for n in (1, 2, 3)]
    heads = {one.head.hash for one in messages if one.head.upto == 2}
    assert len(heads - {None}) == 1
    assert {one.head.event for one in messages if one.head.kind is RecordKind.CHANGE} == {
        "COMMIT_TXN"
    }


def lose(log: Log) -> None:
    log.set_next(5)


def damage(log: Log) -> None:
    log.write(4, type_="ALLOC_WRITE_ID_EVENT", message="{", DB_NAME="db", TBL_NAME="u")


@pytest.mark.parametrize("hide", [None, damage, lose])
def test_the_end_of_a_known_transaction_goes_to_the_tables_that_it_wrote(
    url: str, kafka_broker: str, hide: Callable[[Log], None] | None
) -> None:
    log, topic = Log(unpooled_engine(url)), new_topic(kafka_broker)
    log.write(1, type_="OPEN_TXN", message='{"fromTxnId":7,"toTxnId":8}')
    allocated = '{"txnIdList":[7],"writeIdList":[1],"dbName":"db","tableName":"t"}'
    log.write(2, type_="ALLOC_WRITE_ID_EVENT", message=allocated, DB_NAME="db", TBL_NAME="t")
    log.write(3, message='{"txnid":8}')
    if hide is not None:
        hide(log)
    log.write(5 if hide else 4, message='{"txnid":7}')
    with connecting(SqlSource(log.engine), topic, QUICK) as connector:
        connector.until_position(5 if hide else 4)
    messages, everywhere = read(topic), set(range(topic.shards))
    ends = {
        txn: {
            shard
            for shard in everywhere
            if any(CommitTxn(txn, None) in change.actions for change in changes(messages, shard))
        }
        for txn in (7, 8)
    }
    assert ends[8] == set(), "it wrote nothing"
    home = {table_shard(table_name(None, "db", "t"), topic.shards)}
    assert ends[7] == (everywhere if hide else home)


@pytest.mark.parametrize(
    ("type_", "message"),
    [("CONFIG_CHANGE_EVENT", "{}"), ("OPEN_TXN", '{"fromTxnId":3,"toTxnId":4}')],
)
def test_impala_12399_progress_is_made_where_the_last_event_concerns_nobody(
    url: str, kafka_broker: str, type_: str, message: str
) -> None:
    log, topic = Log(unpooled_engine(url)), new_topic(kafka_broker)
    with connecting(SqlSource(log.engine), topic) as connector:
        log.write(1, 2, type_=type_, message=message)
        connector.until_position(2)
    messages = read(topic)
    assert assert_unbroken(messages, topic) == 2
    assert {one.head.kind for one in messages} == {RecordKind.PROGRESS, RecordKind.TRANSACTIONS}
    assert {one.shard for one in messages if one.head.kind is RecordKind.PROGRESS} == set(range(4))


def test_a_load_that_waits_for_an_event_is_not_kept_until_progress_is_due(
    url: str, kafka_broker: str
) -> None:
    log, topic = Log(unpooled_engine(url)), new_topic(kafka_broker)
    with connecting(SqlSource(log.engine), topic, Pace(progress_ms=3_600_000)) as connector:
        log.write(1, type_="CONFIG_CHANGE_EVENT")
        connector.until(lambda: connector.value("position") == 1)
        log.write(2, type_="CONFIG_CHANGE_EVENT")
        connector.until(lambda: connector.value("position") == 2)
        assert connector.watermark.event(0, range(4)) < 2
        deadline = time.monotonic() + 60
        assert connector.watermark.wait(0, 2, [1], lambda: time.monotonic() < deadline)
        assert [connector.watermark.event(0, [shard]) for shard in range(4)] == [1, 2, 1, 1]
    assert assert_unbroken(read(topic), topic) == 1


def test_what_is_open_is_told_to_every_shard(url: str, kafka_broker: str) -> None:
    store, topic = Store(url), new_topic(kafka_broker)
    sink = store.session()
    (txn,) = sink.open_transactions(1, 1_800_000_000_000)
    sink.write([], [])
    sink.close()
    workload_runs.write(store, 50)
    last = len(workload_runs.rows(store))
    with connecting(SqlSource(store.engine), topic, Pace(transactions_s=0.1)) as connector:
        connector.until_position(last)
        connector.until(lambda: sum(_has_transaction(topic, txn, last)) == topic.shards)
    positions = dict.fromkeys(range(topic.shards), 0)
    for message in read(topic):
        if isinstance(message.record, OpenTransactions):
            assert positions[message.shard] >= message.record.at
        elif isinstance(message.record, Change):
            positions[message.shard] = message.record.upto


def _has_transaction(topic: Topic, txn: int, at: int) -> list[bool]:
    found: dict[int, bool] = {}
    for message in read(topic):
        if isinstance(message.record, OpenTransactions) and message.record.at == at:
            found[message.shard] = txn in message.record.txns
    return list(found.values())


@pytest.mark.parametrize("version", [one for one in Version if one >= Version.V4_0])
def test_every_shape_of_the_schema_is_read(version: Version, url: str, kafka_broker: str) -> None:
    create(unpooled_engine(url), version)
    log, topic = Log(unpooled_engine(url)), new_topic(kafka_broker, 2)
    log.write(1, 2)
    with connecting(SqlSource(log.engine), topic) as connector:
        connector.until_position(2)
        log.write(3)
        connector.until_position(3)
    assert tails.find(topic).furthest.event_id == 3
