"""The offsets of a topic, and what is said if they can't be told."""

import time
from collections.abc import Iterator

import pytest

from hive.errors import NoTopicError, TopicError
from metatide.stack.machine import LOOPBACK, free_port
from state.topic import Topic
from state.topic import client as module
from state.topic.client import Bounds, TopicClient, topic_bounds
from tests.support.kafka.topics import delete_topic, new_topic
from tests.support.links import Links

DELAY_S = 0.1


@pytest.fixture
def slow_broker(kafka_broker: str) -> Iterator[str]:
    """The broker at an address where bytes take long, each way."""
    port, links = free_port(), Links()
    links.change(port, int(kafka_broker.rpartition(":")[2]), delay_s=DELAY_S)
    yield f"{LOOPBACK}:{port}"
    links.end()


def test_a_caller_is_answered_at_once_while_brokers_are_being_learned(
    kafka_broker: str, slow_broker: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody waits for the next look of librdkafka for leaders."""
    monkeypatch.setattr(module, "REQUEST_TIMEOUT_S", 2.0)
    client = TopicClient(slow_broker, new_topic(kafka_broker, 1).name)
    assert client._admin is not None
    # By then it has asked which versions of requests there are, and not yet learned of the brokers.
    time.sleep(3 * DELAY_S)
    assert client.bounds([0]) == {0: Bounds(0, 0)}


def test_a_client_that_has_known_a_topic_is_told_that_it_is_gone(kafka_broker: str) -> None:
    topic = new_topic(kafka_broker, 1)
    client = TopicClient(kafka_broker, topic.name)
    assert client.ends([0]) == {0: 0}
    delete_topic(kafka_broker, topic.name)

    def ask_until_it_is_gone() -> None:
        for _ in range(100):
            client.ends([0])
            time.sleep(0.1)

    with pytest.raises(NoTopicError, match="there is no topic"):
        ask_until_it_is_gone()


def test_the_offsets_of_a_topic_that_is_not_there(kafka_broker: str) -> None:
    with pytest.raises(NoTopicError, match=f"^there is no topic never at {kafka_broker}: start "):
        topic_bounds(Topic(kafka_broker, "never", 2))


def test_the_offsets_of_partitions_that_nobody_leads(kafka_broker: str) -> None:
    topic = new_topic(kafka_broker, 1)
    with pytest.raises(TopicError, match=f"^Kafka at {kafka_broker} doesn't answer: "):
        topic_bounds(Topic(kafka_broker, topic.name, 2))
