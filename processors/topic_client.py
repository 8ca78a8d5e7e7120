"""The events topic as its readers see it: which one it is, and from where to where it reaches."""

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
    """A topic, told by its id from one that was made anew under its name."""

    servers: str
    name: str
    id: str
    partitions: int
    security: Mapping[str, str] = {}
    """TLS and SASL in librdkafka's words."""

    @property
    def client(self) -> dict[str, Any]:
        """What every client of its brokers is set up with."""
        return client_settings(self.servers, self.security)

    def identity(self, shard: int) -> Identity:
        """What the store of a shard is known by."""
        return Identity(
            format_version=STORE_FORMAT, topic_id=self.id, partitions=self.partitions, shard=shard
        )


def client_settings(servers: str, security: Mapping[str, str]) -> dict[str, Any]:
    """How brokers are reached, in librdkafka's words."""
    return {"bootstrap.servers": servers, "reconnect.backoff.max.ms": "1000", **security}


class Bounds(NamedTuple):
    """The offsets that a partition holds: `first <= offset < end`."""

    first: int
    end: int


class TopicClient:
    """Asks the brokers about a topic. Its calls block: in an event loop they belong in a thread."""

    def __init__(self, servers: str, name: str, security: Mapping[str, str] | None = None) -> None:
        self._servers = servers
        self._name = name
        self._security = security or {}
        self._admin = AdminClient(client_settings(servers, self._security), logger=QUIET)

    def describe(self) -> Topic:
        """Finds the topic, or says that it isn't there."""
        request = TopicCollection([self._name])
        found = self._admin.describe_topics(request, request_timeout=REQUEST_TIMEOUT_S)
        try:
            description = found[self._name].result()
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
        """From where to where these partitions reach now."""
        shards = list(shards)
        firsts = self._offsets(shards, _FIRST)
        ends = self._offsets(shards, _END)
        return {shard: Bounds(firsts[shard], ends[shard]) for shard in shards}

    def ends(self, shards: Iterable[int]) -> Mapping[int, int]:
        """Where these partitions end now."""
        return self._offsets(list(shards), _END)

    def _offsets(self, shards: list[int], at: OffsetSpec) -> Mapping[int, int]:
        request: dict[TopicPartition, Any] = {
            TopicPartition(self._name, shard): at for shard in shards
        }
        if not request:
            return {}
        found = self._admin.list_offsets(request, request_timeout=REQUEST_TIMEOUT_S)
        try:
            return {one.partition: future.result().offset for one, future in found.items()}
        except KafkaException as error:
            raise self._error(error) from error

    def _error(self, error: KafkaException) -> TopicError:
        why = error.args[0]
        if why.code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
            return TopicError(
                f"there is no topic {self._name} at {self._servers}: "
                "start a connector, which makes it, or name another one (kafka.topic)"
            )
        return TopicError(f"Kafka at {self._servers} doesn't answer: {why.str()}")
