"""Heartbeats that brokers don't take: they are left out, and nothing fails."""

from unittest.mock import Mock

import pytest
from confluent_kafka import KafkaError, KafkaException
from structlog.testing import capture_logs

from connectors import heartbeat_sender
from connectors.heartbeat_sender import HeartbeatSender
from hive.errors import TopicError
from state.records.heartbeats import Heartbeat
from state.topic import Topic

HEARTBEAT = Heartbeat(name="one", host="here", address="here:1")
FAULT = KafkaException(KafkaError(KafkaError._ALL_BROKERS_DOWN))


@pytest.fixture
def sender() -> HeartbeatSender:
    return HeartbeatSender(Topic("nowhere:1", "t", 1), lambda: HEARTBEAT)


@pytest.mark.parametrize("fault", [BufferError(), FAULT])
def test_one_that_can_not_be_sent_is_left_out(sender: HeartbeatSender, fault: Exception) -> None:
    producer = Mock()
    producer.produce.side_effect = fault
    with capture_logs() as logs:
        sender._send(producer, HEARTBEAT)
    assert [line["log_level"] for line in logs] == ["debug"]
    assert producer.poll.call_count == 1


@pytest.mark.parametrize("fault", [TopicError("the brokers are away"), FAULT, None])
def test_a_topic_that_can_not_be_made_now_is_tried_again(
    sender: HeartbeatSender, fault: Exception | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(heartbeat_sender, "create_missing", Mock(side_effect=fault))
    assert sender._create() == (fault is None)
