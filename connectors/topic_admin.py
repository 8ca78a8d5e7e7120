"""The events topic itself: made with settings that lose nothing, examined, cut off at its start."""

import time
from collections.abc import Mapping
from concurrent.futures import Future
from typing import Any, NamedTuple

from confluent_kafka import KafkaError, KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource, ResourceType  # type: ignore[attr-defined]
from confluent_kafka.cimpl import NewTopic

from connectors import tails
from connectors.kafka_clients import RECORD_BYTES_MAX, TIMEOUT_S, KafkaTopic, reason
from hive.errors import InputError, MachineError, OtherTopicError, PublishError

SETTINGS = {
    "cleanup.policy": "delete",
    "retention.ms": "-1",
    "retention.bytes": "-1",
    "max.message.bytes": str(RECORD_BYTES_MAX),
    "compression.type": "producer",
}
"""The cache is rebuilt from all that was ever written, so nothing goes away by itself."""

_LEADERS_POLL_S = 0.05


class Partition(NamedTuple):
    """One shard's part of the topic."""

    shard: int
    first: int
    end: int


class Description(NamedTuple):
    """The topic as the broker has it."""

    name: str
    id: str
    settings: Mapping[str, str]
    partitions: tuple[Partition, ...]


def create(topic: KafkaTopic) -> bool:
    """Makes the topic, and the one for rows that can't be read; False when it is there already.

    One with another number of partitions is refused: it would send a table to two shards.
    """
    admin = topic.admin()
    # -1: as many copies as the brokers make by default.
    wanted = [
        NewTopic(topic.name, topic.shards, -1, config=SETTINGS),
        NewTopic(topic.dead_letter, 1, -1, config=SETTINGS),
    ]
    created = [
        _made(topic, one) for one in admin.create_topics(wanted, request_timeout=TIMEOUT_S).values()
    ]
    _await_leaders(topic)
    check(topic)
    return created[0]


def check(topic: KafkaTopic) -> None:
    """Refuses a topic with another number of partitions."""
    count = len(_partitions(topic.admin(), topic))
    if count != topic.shards:
        raise OtherTopicError(
            f"the topic {topic.name} has {count} partitions, the configuration says "
            f"{topic.shards}: set kafka.partitions = {count}, or another kafka.topic"
        )


def describe(topic: KafkaTopic) -> Description:
    """What the broker says of the topic."""
    check(topic)
    admin = topic.admin()
    resource = ConfigResource(ResourceType.TOPIC, topic.name)
    try:
        [answer] = admin.describe_configs([resource], request_timeout=TIMEOUT_S).values()
        settings = {
            name: str(entry.value) for name, entry in answer.result().items() if name in SETTINGS
        }
        asked = TopicCollection([topic.name])
        [found] = admin.describe_topics(asked, request_timeout=TIMEOUT_S).values()
        topic_id = str(found.result().topic_id)
    except KafkaException as error:
        raise MachineError(f"{topic.servers}: {reason(error)}") from error
    first, ends = tails.offsets(topic)
    partitions = tuple(Partition(shard, first[shard], ends[shard]) for shard in range(topic.shards))
    return Description(topic.name, topic_id, settings, partitions)


def trim(topic: KafkaTopic, keep_from: Mapping[int, int]) -> dict[int, int]:
    """Deletes what comes before these offsets; the first offset of each shard after that.

    A shard keeps its last records in any case: they say how far it has come.
    """
    asked = []
    for shard, first, end in describe(topic).partitions:
        offset = min(keep_from.get(shard, first), end - tails.WINDOW_RECORDS)
        asked.append(TopicPartition(topic.name, shard, max(first, offset)))
    # An answer comes only as long as the client is held.
    admin = topic.admin()
    answers = admin.delete_records(asked, request_timeout=TIMEOUT_S)
    try:
        return {at.partition: one.result().low_watermark for at, one in answers.items()}
    except KafkaException as error:
        raise MachineError(f"{topic.name} was not trimmed: {reason(error)}") from error


def _await_leaders(topic: KafkaTopic) -> None:
    """The broker says that a topic is made a little before its partitions can be used."""
    deadline = time.monotonic() + TIMEOUT_S
    while time.monotonic() < deadline:
        try:
            tails.offsets(topic)
        except PublishError:
            time.sleep(_LEADERS_POLL_S)
        else:
            return


def _made(topic: KafkaTopic, answer: "Future[Any]") -> bool:
    try:
        answer.result()
    except KafkaException as error:
        if error.args[0].code() == KafkaError.TOPIC_ALREADY_EXISTS:
            return False
        raise MachineError(
            f"the topic {topic.name} can't be created at {topic.servers}: {reason(error)}"
        ) from error
    return True


def _partitions(admin: AdminClient, topic: KafkaTopic) -> Mapping[int, Any]:
    try:
        known = admin.list_topics(topic.name, timeout=TIMEOUT_S).topics[topic.name]
    except KafkaException as error:
        raise MachineError(f"no Kafka answers at {topic.servers}: {reason(error)}") from error
    if known.error is not None:
        raise InputError(
            f"there is no topic {topic.name} at {topic.servers}: {known.error.str()}; "
            "make it with `metatide topic create`"
        )
    partitions: Mapping[int, Any] = known.partitions
    return partitions
