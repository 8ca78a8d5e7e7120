"""Creates topics at the brokers of the events topic."""

from concurrent.futures import Future
from typing import Any, Final

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.cimpl import NewTopic

from state.topic.description import Topic
from state.topic.settings import REQUEST_TIMEOUT_S

_SIGNALS: Final = {"cleanup.policy": "delete", "retention.ms": str(24 * 3600 * 1000)}
"""Old signals are worthless: whoever still misses a load asks again."""


def create_missing(topic: Topic, *wanted: NewTopic) -> list[bool]:
    """Creates those of some topics that don't exist; returns of each whether it is new. Raises
    KafkaException."""
    admin = topic.admin()
    answers = admin.create_topics([*wanted], request_timeout=REQUEST_TIMEOUT_S)
    return [_is_new(answer) for answer in answers.values()]


def create_signals(topic: Topic) -> None:
    """Creates the signals topic unless it exists: it has a partition for each shard, which the
    connectors divide among themselves. Raises KafkaException."""
    # -1 means the brokers' default replication factor.
    create_missing(topic, NewTopic(topic.signals, topic.shards, -1, config=_SIGNALS))


def _is_new(answer: "Future[Any]") -> bool:
    try:
        answer.result()
    except KafkaException as error:
        if error.args[0].code() == KafkaError.TOPIC_ALREADY_EXISTS:
            return False
        raise
    return True
