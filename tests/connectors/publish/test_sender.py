"""That brokers which take nothing are waited for, within limits, and nothing is lost by it."""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from confluent_kafka import KafkaError, KafkaException, Producer, TopicPartition

from connectors import topic_admin as events
from connectors.log.sql_source import SqlSource
from connectors.publish import producer
from connectors.publish.sender import Sender
from connectors.settings import Pace
from hive.errors import PublishError, StoppedError
from hive.reader.engines import unpooled_engine
from state.topic import Topic
from state.topic.partitions import assigned_consumer
from state.topic.settings import RECORD_BYTES_MAX
from tests.connectors.connector_runs import Log, assert_unbroken, connecting, new_topic, read, until
from tests.support.kafka.broker import MortalBroker, mortal_broker

pytestmark = pytest.mark.slow

WAITING_MAX = 20
RECORDS = 10 * WAITING_MAX
AWAY = Topic("127.0.0.1:1", "away", 1)


@pytest.fixture(scope="module")
def broker() -> Iterator[MortalBroker]:
    with mortal_broker() as broker:
        yield broker


@contextmanager
def sending(topic: Topic, going_on: Callable[[], bool] = lambda: True) -> Iterator[Sender]:
    sender = Sender(topic, going_on, waiting_max=WAITING_MAX)
    try:
        yield sender
    finally:
        sender.close()


def send(sender: Sender, topic: Topic, numbers: range) -> None:
    for number in numbers:
        sender.send(topic.name, 0, b"%d" % number, [])


def values(topic: Topic, count: int) -> list[int]:
    """The first records of a shard."""
    consumer = assigned_consumer(topic)
    try:
        consumer.assign([TopicPartition(topic.name, 0, 0)])
        numbers: list[int] = []

        def is_read() -> bool:
            messages = consumer.consume(1_000, 0.1)
            numbers.extend(int(one.value() or b"") for one in messages if one.error() is None)
            return len(numbers) >= count

        until(is_read, lambda: f"only {numbers}")
        return numbers
    finally:
        consumer.close()


def test_a_full_queue_waits_for_the_broker_and_keeps_the_order(broker: MortalBroker) -> None:
    topic = new_topic(broker.address, 1)
    events.create(topic)
    with sending(topic) as sender:
        send(sender, topic, range(5))
        sender.flush()
        rest = threading.Thread(target=send, args=(sender, topic, range(5, RECORDS)))
        with broker.frozen():
            rest.start()
            rest.join(0.5)
            assert rest.is_alive()
        rest.join()
        sender.flush()
    assert values(topic, RECORDS) == list(range(RECORDS))


def test_a_leader_that_has_lost_records_is_an_error(broker: MortalBroker) -> None:
    """librdkafka says so where it is served, not with a record, and then sends nothing more."""
    topic = new_topic(broker.address, 1)
    events.create(topic)

    def send_on() -> None:
        send(sender, topic, range(1))
        sender.flush()

    with sending(topic) as sender:
        send_on()
        with broker.forgetting():
            send_on()
            send_on()
        with pytest.raises(PublishError, match="sequence"):
            send_on()
        with pytest.raises(PublishError):
            send_on()
    with sending(topic) as sender:
        send_on()


def test_brokers_that_stay_away_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("state.topic.silence.SILENCE_S_MAX", 0.2)
    said = rf"brokers at 127.0.0.1:1 took nothing for 0.2 s while {WAITING_MAX} records wait"
    with sending(AWAY) as sender:
        send(sender, AWAY, range(WAITING_MAX))
        with pytest.raises(PublishError, match=said):
            send(sender, AWAY, range(1))
        with pytest.raises(PublishError, match=said):
            sender.flush()


@pytest.mark.parametrize("waits", ["to send", "for the rest"])
def test_a_sender_that_is_told_to_stop_waits_for_nobody(waits: str) -> None:
    stopped = threading.Event()
    with sending(AWAY, lambda: not stopped.is_set()) as sender:
        send(sender, AWAY, range(WAITING_MAX))
        wait = sender.flush if waits == "for the rest" else lambda: send(sender, AWAY, range(1))
        threading.Timer(0.2, stopped.set).start()
        with pytest.raises(StoppedError):
            wait()


def test_a_producer_that_fails_when_it_is_closed_fails_nobody(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One that had a record in flight raises that it can't keep its order."""

    class Failing(Producer):
        def close(self) -> bool:
            super().close()
            raise KafkaException(KafkaError(KafkaError._GAPLESS_GUARANTEE, "purged", fatal=True))

    monkeypatch.setattr(producer, "Producer", Failing)
    Sender(Topic("127.0.0.1:1", "nowhere", 1)).close()


def test_a_record_that_no_broker_would_take_is_an_error() -> None:
    with sending(AWAY) as sender, pytest.raises(PublishError, match=r"away, partition 0: .*large"):
        sender.send(AWAY.name, 0, b"x" * (RECORD_BYTES_MAX + 1), [])


def refusal(wait: Callable[[], None]) -> str:
    with pytest.raises(PublishError, match="Message size too large") as refused:
        wait()
    return str(refused.value)


def test_a_record_that_the_topic_refuses_is_an_error(
    broker: MortalBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic, bytes_max = new_topic(broker.address, 1), 1_000
    monkeypatch.setitem(events.SETTINGS, "max.message.bytes", str(bytes_max))
    events.create(topic)
    with sending(topic) as sender:
        sender.send(topic.name, 0, os.urandom(2 * bytes_max), [])
        said = f"the topic {topic.name} didn't take a record: Broker: Message size too large"
        refusal(sender.flush)
        until(lambda: refusal(sender.serve) == said)
        assert refusal(sender.flush) == said


def test_a_connector_says_that_brokers_stay_away_and_goes_on_when_they_are_back(
    broker: MortalBroker, new_metastore_database: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    log, topic = Log(unpooled_engine(new_metastore_database())), new_topic(broker.address, 2)
    with connecting(SqlSource(log.engine), topic, Pace(retry_s_max=0.2)) as connector:
        log.write(1)
        connector.until_position(1)
        broker.kill()
        with monkeypatch.context() as patience:
            patience.setattr("state.topic.silence.SILENCE_S_MAX", 0.5)
            log.write(*range(2, RECORDS))
            connector.until(lambda: connector.value("faults_total", kind="publish") > 0)
            connector.until(lambda: connector.status.waits_for is not None)
        broker.start()
        connector.until_position(RECORDS - 1)
        connector.until(lambda: connector.status.waits_for is None)
    assert assert_unbroken(read(topic), topic) == RECORDS - 1
