"""What is said of topics whose offsets can't be told."""

import pytest

from hive.errors import NoTopicError, TopicError
from state.topic import Topic
from state.topic.client import topic_bounds
from tests.support.kafka.topics import new_topic


def test_the_offsets_of_a_topic_that_is_not_there(kafka_broker: str) -> None:
    with pytest.raises(NoTopicError, match=f"^there is no topic never at {kafka_broker}: start "):
        topic_bounds(Topic(kafka_broker, "never", 2))


def test_the_offsets_of_partitions_that_nobody_leads(kafka_broker: str) -> None:
    topic = new_topic(kafka_broker, 1)
    with pytest.raises(TopicError, match=f"^Kafka at {kafka_broker} doesn't answer: "):
        topic_bounds(Topic(kafka_broker, topic.name, 2))
