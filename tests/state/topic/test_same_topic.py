"""A topic that is created anew while something goes on from the one before."""

import asyncio
from collections.abc import Callable

import pytest
from confluent_kafka.admin import NewPartitions  # type: ignore[attr-defined]

from hive.errors import MachineError, TopicError
from state.topic import Topic, TopicClient, same_topic
from state.topic.same_topic import TopicWatch, check_same, watch_topic
from state.topic.settings import REQUEST_TIMEOUT_S
from tests.support.kafka.topics import delete_topic, new_topic

PATIENCE_S = 60
END_S = 5.0


class Client(TopicClient):
    """Calls what the topic shall become of before each description."""

    def __init__(self, topic: Topic, *changes: Callable[[], object]) -> None:
        super().__init__(topic.servers, topic.name)
        self._changes = [*changes]

    def describe(self, timeout_s: float = REQUEST_TIMEOUT_S) -> Topic:
        # The watching process may be told to end, and no thread can be.
        assert timeout_s < END_S
        self._changes.pop(0)()
        return super().describe()


def test_another_one_is_refused(kafka_broker: str) -> None:
    topic = new_topic(kafka_broker, 2)
    check_same(topic)
    delete_topic(kafka_broker, topic.name)
    with pytest.raises(TopicError, match="there is no topic"):
        check_same(topic)
    new_topic(kafka_broker, 2, topic.name)
    with pytest.raises(MachineError, match="created anew"):
        check_same(topic)


def test_more_partitions_are_told(kafka_broker: str) -> None:
    topic = new_topic(kafka_broker, 2)
    wanted = NewPartitions(topic.name, 3)
    admin = topic.admin()
    admin.create_partitions([wanted])[topic.name].result(PATIENCE_S)
    with pytest.raises(MachineError, match="3 partitions instead of 2"):
        check_same(topic)


async def test_a_watch_waits_until_the_brokers_tell(
    kafka_broker: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(same_topic, "SAME_TOPIC_S", 0.01)
    topic = new_topic(kafka_broker, 2)
    client = Client(
        topic,
        lambda: None,
        lambda: delete_topic(kafka_broker, topic.name),
        lambda: new_topic(kafka_broker, 2, topic.name),
    )
    with pytest.raises(MachineError, match="created anew"):
        async with asyncio.timeout(PATIENCE_S):
            await watch_topic(client, topic)


def test_a_loop_looks_now_and_then(kafka_broker: str, monkeypatch: pytest.MonkeyPatch) -> None:
    topic = new_topic(kafka_broker, 2)
    watch = TopicWatch(topic)
    delete_topic(kafka_broker, topic.name)
    watch.look()
    monkeypatch.setattr(same_topic, "SAME_TOPIC_S", 0)
    watch.look()
    new_topic(kafka_broker, 2, topic.name)
    with pytest.raises(MachineError, match="created anew"):
        watch.look()
    monkeypatch.undo()
    watch.look()
