"""What becomes of a signal on its way to the topic, and of a topic that isn't there yet."""

import asyncio
import uuid
from collections.abc import Callable
from typing import Any
from unittest.mock import Mock

import pytest
from confluent_kafka import KafkaError, KafkaException
from structlog.testing import capture_logs

from hive.errors import TopicError
from processors.worker import signals_producer
from processors.worker.signals_producer import SignalsProducer
from state.records.signals import LoadRequest, PauseOrder
from state.topic import Topic
from tests.processors.worker.created_table import SCOPE

NOWHERE = Topic("127.0.0.1:1", "nowhere", 1)
REQUEST = LoadRequest(0, SCOPE, 7)
ORDER = PauseOrder(0, 1, paused=True)


def test_a_topic_that_a_worker_makes_has_a_partition_for_each_shard(kafka_broker: str) -> None:
    """With fewer, some connectors would get no signals."""
    topic = Topic(kafka_broker, f"test-{uuid.uuid4().hex[:12]}", 3)
    admin = topic.admin()
    assert SignalsProducer(topic).make_topic()
    while topic.signals not in (topics := admin.list_topics(timeout=30).topics):
        pass
    assert len(topics[topic.signals].partitions) == topic.shards


def test_a_topic_that_can_not_be_made_now_is_made_later(
    kafka_broker: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: Topic) -> None:
        raise KafkaException(KafkaError(KafkaError.REQUEST_TIMED_OUT))

    assert SignalsProducer(Topic(kafka_broker, "asking", 1)).make_topic()
    unmade = SignalsProducer(Topic(kafka_broker, f"not-{uuid.uuid4().hex}", 1))
    with monkeypatch.context() as failing:
        failing.setattr(signals_producer, "create_signals", fail)
        assert not unmade.make_topic()
    assert unmade.make_topic()


def test_a_request_that_a_broker_does_not_take_is_told_in_the_log(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    produce = Mock()
    assert sending_by(monkeypatch, produce).request(REQUEST)
    delivered = produce.call_args.kwargs["on_delivery"]
    with capture_logs() as logs:
        delivered(None, None)
        delivered(KafkaError(KafkaError._MSG_TIMED_OUT), None)
    assert [line["event"] for line in logs] == ["a request for a load wasn't sent"]


def test_a_request_that_can_not_be_sent_is_told_in_the_log(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    producer = sending_by(monkeypatch, Mock(side_effect=BufferError("full")))
    with capture_logs() as logs:
        assert not producer.request(REQUEST)
    assert [(line["event"], line["why"]) for line in logs] == [
        ("a load can't be requested", "full")
    ]


@pytest.mark.parametrize(
    ("failure", "why"),
    [
        (BufferError(), "too many messages wait"),
        (
            KafkaException(KafkaError(KafkaError._FATAL)),
            r"can't take the order: Local: Fatal error$",
        ),
    ],
)
async def test_an_order_that_can_not_be_sent_fails(
    monkeypatch: pytest.MonkeyPatch, failure: Exception, why: str
) -> None:
    producer = sending_by(monkeypatch, Mock(side_effect=failure))
    with pytest.raises(TopicError, match=why):
        await producer.order(ORDER)


async def test_an_order_waits_for_its_acknowledgement(monkeypatch: pytest.MonkeyPatch) -> None:
    deliveries: list[Callable[[object, object], None]] = []
    late = KafkaError(KafkaError._MSG_TIMED_OUT)

    def produce(*_: object, on_delivery: Callable[[object, object], None]) -> None:
        deliveries.append(on_delivery)

    producer = sending_by(monkeypatch, produce)
    taken, refused, given_up = (producer.order(ORDER) for _ in "123")
    given_up.cancel()
    failures: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, failure: failures.append(failure))
    for deliver, error in zip(deliveries, (None, late, late), strict=True):
        deliver(error, None)
    await taken
    assert not failures
    with pytest.raises(TopicError, match=r"didn't take it: Local: Message timed out$"):
        await refused


def sending_by(monkeypatch: pytest.MonkeyPatch, produce: Callable[..., None]) -> SignalsProducer:
    monkeypatch.setattr(signals_producer, "Producer", lambda *_, **__: Mock(produce=produce))
    return SignalsProducer(NOWHERE)
