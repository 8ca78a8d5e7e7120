"""Manages the events topic: creates it with settings that lose nothing, describes and trims it."""

import time
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import structlog
from confluent_kafka import KafkaException, TopicPartition
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    ConfigResource,
    ResourceType,
)
from confluent_kafka.cimpl import NewTopic

from connectors.carried_orders import carry_orders
from connectors.publish import tails
from hive.errors import MachineError, OtherTopicError, TopicError
from state.topic import Topic
from state.topic.client import TopicClient, topic_bounds
from state.topic.creation import create_missing
from state.topic.settings import RECORD_BYTES_MAX, REQUEST_TIMEOUT_S, reason

SETTINGS = {
    "cleanup.policy": "delete",
    "retention.ms": "-1",
    "retention.bytes": "-1",
    "max.message.bytes": str(RECORD_BYTES_MAX),
    "compression.type": "producer",
}
"""The cache is rebuilt from everything ever written, so no record expires."""
KEEPING = {name: SETTINGS[name] for name in ("cleanup.policy", "retention.ms", "retention.bytes")}
"""Those without which the topic loses records."""

_LEADERS_POLL_S = 0.05

log = structlog.get_logger(__name__)


class Partition(NamedTuple):
    """One shard of the topic."""

    shard: int
    first: int
    end: int


class Description(NamedTuple):
    """The topic as the brokers describe it."""

    name: str
    id: str
    settings: Mapping[str, str]
    partitions: tuple[Partition, ...]


def create(topic: Topic) -> bool:
    """Creates the events topic and the dead-letter topic; False when they exist already.

    An existing topic with another number of partitions is refused: it would route tables to two
    shards.
    """
    try:
        # -1 means the brokers' default replication factor.
        is_new, _ = create_missing(
            topic,
            NewTopic(topic.name, topic.shards, -1, config=SETTINGS),
            NewTopic(topic.dead_letter, 1, -1, config=SETTINGS),
        )
    except KafkaException as error:
        raise MachineError(
            f"the topic {topic.name} can't be created at {topic.servers}: {reason(error)}"
        ) from error
    _await_leaders(topic)
    return is_new


def check(topic: Topic) -> Topic:
    """The topic as the brokers describe it; refuses one with another number of partitions."""
    # Metadata of a single topic isn't asked for: by that, brokers create it, with one partition.
    described = TopicClient(topic.servers, topic.name, topic.security).describe()
    require_count(topic, described.shards)
    return described


def require_count(topic: Topic, count: int) -> None:
    """Refuses another number of partitions than the configured one."""
    if count != topic.shards:
        raise OtherTopicError(
            f"the topic {topic.name} has {count} partitions, the configuration says "
            f"{topic.shards}: set kafka.partitions = {count} while no connector runs, or another "
            "kafka.topic"
        )


def warn_of_loss(topic: Topic) -> None:
    """Logs by which settings a topic that somebody else has made loses records, and the remedy.
    Refuses one that is compacted: it takes no record without a key.
    """
    try:
        settings = _settings(topic, topic.admin())
    except KafkaException as error:
        log.info("the brokers don't tell the topic's settings", topic=topic.name, why=reason(error))
        return
    losing = {name: settings[name] for name, value in KEEPING.items() if settings[name] != value}
    if not losing:
        return
    remedy = keeping_command(topic.name, losing)
    if "compact" in settings["cleanup.policy"]:
        raise MachineError(
            f"the topic {topic.name} is compacted, so that its brokers refuse all records: {remedy}"
        )
    log.error(
        "the topic loses records that the cache is rebuilt from: alter it",
        topic=topic.name,
        settings=", ".join(f"{name}={value}" for name, value in losing.items()),
        remedy=remedy,
    )


def keeping_command(topic: str, losing: Iterable[str]) -> str:
    """By which an operator has a topic keep its records, in place of these settings."""
    settings = ",".join(f"{name}={KEEPING[name]}" for name in losing)
    return f"kafka-configs.sh --alter --topic {topic} --add-config {settings}"


def describe(topic: Topic) -> Description:
    """Asks the brokers to describe the topic."""
    described = check(topic)
    assert described.id is not None
    try:
        settings = _settings(topic, topic.admin())
    except KafkaException as error:
        raise MachineError(
            f"the topic {topic.name} can't be described at {topic.servers}: {reason(error)}; check "
            "that the brokers run and kafka.* lets this client describe topics"
        ) from error
    bounds = topic_bounds(topic)
    partitions = tuple(Partition(shard, *bounds[shard]) for shard in range(topic.shards))
    return Description(topic.name, described.id, settings, partitions)


def trim(topic: Topic, keep_from: Mapping[int, int]) -> dict[int, int]:
    """Deletes the records before these offsets and returns the new first offset of each shard.

    The last records of each shard stay in any case, for connectors compare them with the log, and
    so does the one that tells its position, however many records of loads came after it.
    Operators' orders are carried along.
    """
    position_offsets = tails.find(topic).offsets
    cuts = {}
    for shard, first, end in describe(topic).partitions:
        offset = min(keep_from.get(shard, first), end - tails.WINDOW_RECORDS)
        position_offset = position_offsets[shard]
        cuts[shard] = max(
            first, offset if position_offset is None else min(offset, position_offset)
        )
    allowed = carry_orders(topic, cuts)
    places = [TopicPartition(topic.name, shard, offset) for shard, offset in allowed.items()]
    admin = topic.admin()
    answers = admin.delete_records(places, request_timeout=REQUEST_TIMEOUT_S)
    try:
        return {at.partition: answer.result().low_watermark for at, answer in answers.items()}
    except KafkaException as error:
        raise MachineError(f"{topic.name} was not trimmed: {reason(error)}") from error


def _settings(topic: Topic, admin: AdminClient) -> dict[str, str]:
    """Those of `SETTINGS` as the brokers have them. Raises KafkaException."""
    resource = ConfigResource(ResourceType.TOPIC, topic.name)
    [answer] = admin.describe_configs([resource], request_timeout=REQUEST_TIMEOUT_S).values()
    return {name: str(entry.value) for name, entry in answer.result().items() if name in SETTINGS}


def _await_leaders(topic: Topic) -> None:
    """Waits for the partitions: brokers confirm a new topic before its leaders are elected."""
    deadline = time.monotonic() + REQUEST_TIMEOUT_S
    while True:
        try:
            # Partitions that the topic doesn't have never get leaders.
            check(topic)
            topic_bounds(topic)
        except TopicError:
            if time.monotonic() >= deadline:
                raise
            time.sleep(_LEADERS_POLL_S)
        else:
            return
