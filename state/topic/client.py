"""Asks the brokers about a topic: its id, its partitions and their offsets."""

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any, Final, NamedTuple

from confluent_kafka import KafkaError, KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec  # type: ignore[attr-defined]

from hive.errors import NoTopicError, TopicError
from state.topic.description import Topic
from state.topic.settings import REQUEST_TIMEOUT_S, Security, admin_client, reason

_FIRST: Final = OffsetSpec.earliest()  # type: ignore[no-untyped-call]
_END: Final = OffsetSpec.latest()  # type: ignore[no-untyped-call]
_NO_LEADERS: Final = KafkaError._NOENT  # noqa: SLF001


class Bounds(NamedTuple):
    """The offsets that a partition holds: `first <= offset < end`."""

    first: int
    end: int


class TopicClient:
    """Asks the brokers about a topic. Its calls block, so an event loop runs them in a thread."""

    def __init__(self, servers: str, name: str, security: Security | None = None) -> None:
        self._servers = servers
        self._name = name
        self._security = security or {}

    @cached_property
    def _admin(self) -> AdminClient:
        # Not before it is needed: a ticket may not be had yet, which a later attempt may change.
        return admin_client(self._servers, self._security)

    @cached_property
    def _acquainted_admin(self) -> AdminClient:
        """The client, once it knows the brokers.

        When librdkafka has learned of them it ends its first connection, with the requests on it,
        and asks for leaders again only after three seconds. The request for a description waits
        until then.
        """
        self.describe()
        return self._admin

    def describe(self, timeout_s: float = REQUEST_TIMEOUT_S) -> Topic:
        """Describes the topic, or raises if it doesn't exist."""
        request = TopicCollection([self._name])
        descriptions = self._admin.describe_topics(request, request_timeout=timeout_s)
        try:
            description = descriptions[self._name].result()
        except KafkaException as error:
            raise self._error(error) from error
        return Topic(
            self._servers,
            self._name,
            len(description.partitions),
            self._security,
            str(description.topic_id),
        )

    def bounds(self, shards: Iterable[int]) -> Mapping[int, Bounds]:
        """The offsets that these partitions hold now."""
        shards = list(shards)
        firsts = self._offsets(shards, _FIRST)
        ends = self._offsets(shards, _END)
        return {shard: Bounds(firsts[shard], ends[shard]) for shard in shards}

    def ends(self, shards: Iterable[int]) -> Mapping[int, int]:
        """The end offsets of these partitions now."""
        return self._offsets(list(shards), _END)

    def _offsets(self, shards: list[int], at: OffsetSpec) -> Mapping[int, int]:
        request: dict[TopicPartition, Any] = {
            TopicPartition(self._name, shard): at for shard in shards
        }
        if not request:
            return {}
        futures = self._acquainted_admin.list_offsets(request, request_timeout=REQUEST_TIMEOUT_S)
        try:
            return {tp.partition: future.result().offset for tp, future in futures.items()}
        except KafkaException as error:
            if error.args[0].code() == _NO_LEADERS:
                # The library says so of a topic that isn't there, too.
                self.describe()
            raise self._error(error) from error

    def _error(self, error: KafkaException) -> TopicError:
        if error.args[0].code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
            return NoTopicError(
                f"there is no topic {self._name} at {self._servers}: "
                "start a connector, which creates it, or correct kafka.topic"
            )
        return TopicError(f"Kafka at {self._servers} doesn't answer: {reason(error)}")


def topic_bounds(topic: Topic) -> Mapping[int, Bounds]:
    """The offsets that each partition of a topic holds now."""
    return TopicClient(topic.servers, topic.name, topic.security).bounds(range(topic.shards))
