"""The events topic as its readers see it: its identity and the offsets that it holds."""

import logging
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from confluent_kafka import KafkaError, KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec  # type: ignore[attr-defined]
from msgspec import Struct

from hive.errors import TopicError
from state.store import Identity
from state.store.families import STORE_FORMAT

# A busy machine keeps a broker from answering for several seconds.
REQUEST_TIMEOUT_S: Final = 10.0

_FIRST: Final = OffsetSpec.earliest()  # type: ignore[no-untyped-call]
_END: Final = OffsetSpec.latest()  # type: ignore[no-untyped-call]

# librdkafka writes connection errors to stderr otherwise; requests that fail say why.
QUIET: Final = logging.getLogger(__name__)
QUIET.addHandler(logging.NullHandler())
QUIET.propagate = False


class Topic(Struct, frozen=True):
    """A topic; its id tells it from one that was created anew under the same name."""

    servers: str
    name: str
    id: str
    partitions: int
    security: Mapping[str, str] = {}
    """TLS and SASL in librdkafka's words."""

    @property
    def client(self) -> dict[str, Any]:
        """The settings of every client of its brokers."""
        return client_settings(self.servers, self.security)

    def identity(self, shard: int) -> Identity:
        """The identity of a shard's store."""
        return Identity(
            format_version=STORE_FORMAT, topic_id=self.id, partitions=self.partitions, shard=shard
        )


def client_settings(servers: str, security: Mapping[str, str]) -> dict[str, Any]:
    """The settings that reach the brokers, in librdkafka's terms."""
    return {"bootstrap.servers": servers, "reconnect.backoff.max.ms": "1000", **security}


class Bounds(NamedTuple):
    """The offsets that a partition holds: `first <= offset < end`."""

    first: int
    end: int


class TopicClient:
    """Asks the brokers about a topic. Its calls block, so an event loop runs them in a thread."""

    def __init__(self, servers: str, name: str, security: Mapping[str, str] | None = None) -> None:
        self._servers = servers
        self._name = name
        self._security = security or {}
        self._admin = AdminClient(client_settings(servers, self._security), logger=QUIET)

    def describe(self) -> Topic:
        """Describes the topic, or raises if it doesn't exist."""
        request = TopicCollection([self._name])
        descriptions = self._admin.describe_topics(request, request_timeout=REQUEST_TIMEOUT_S)
        try:
            description = descriptions[self._name].result()
        except KafkaException as error:
            raise self._error(error) from error
        return Topic(
            self._servers,
            self._name,
            str(description.topic_id),
            len(description.partitions),
            self._security,
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
        futures = self._admin.list_offsets(request, request_timeout=REQUEST_TIMEOUT_S)
        try:
            return {tp.partition: future.result().offset for tp, future in futures.items()}
        except KafkaException as error:
            raise self._error(error) from error

    def _error(self, error: KafkaException) -> TopicError:
        why = error.args[0]
        if why.code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
            return TopicError(
                f"there is no topic {self._name} at {self._servers}: "
                "start a connector, which creates it, or correct kafka.topic"
            )
        return TopicError(f"Kafka at {self._servers} doesn't answer: {why.str()}")
