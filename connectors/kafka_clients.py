"""Kafka clients, set up for a topic that is the only copy of the cache's history."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka.admin import AdminClient

RECORD_BYTES_MAX = 16 * 1024 * 1024
"""What the topic takes as one record, and the most that a producer sends at once."""
TIMEOUT_S = 10.0
WAITING_RECORDS_MAX = 200_000
"""How many records may wait for the brokers by default."""
_WAITING_KIB_MAX = 256 * 1024

# librdkafka writes connection errors to stderr otherwise.
_LOG = logging.getLogger(__name__)
_LOG.addHandler(logging.NullHandler())
_LOG.propagate = False


@dataclass(frozen=True)
class KafkaTopic:
    """The events topic and its brokers."""

    servers: str
    name: str
    shards: int
    security: Mapping[str, str] = field(default_factory=dict)
    """TLS and SASL in librdkafka's words."""

    @property
    def dead_letter(self) -> str:
        """The topic for rows that can't be read."""
        return f"{self.name}.dead-letter"

    def producer(self, on_error: Any = None, waiting_max: int = WAITING_RECORDS_MAX) -> Producer:
        """A producer that never leaves a hole: a record that the brokers refuse ends it.

        It waits without limit for brokers that are away.
        """
        return Producer(
            {
                **self._client(),
                "enable.idempotence": True,
                "enable.gapless.guarantee": True,
                "message.timeout.ms": 0,
                "message.max.bytes": RECORD_BYTES_MAX,
                "queue.buffering.max.messages": waiting_max,
                "queue.buffering.max.kbytes": _WAITING_KIB_MAX,
                "compression.type": "lz4",
                # Large batches cost less when far behind; a flush doesn't linger.
                "linger.ms": 50,
                # A delivery report costs more than all else about a record; flush() waits for all.
                "delivery.report.only.error": True,
                **({} if on_error is None else {"on_delivery": on_error}),
            },
            logger=_LOG,
        )

    def consumer(self) -> Consumer:
        """A consumer of assigned partitions, without a group."""
        return Consumer(
            {
                **self._client(),
                # The library requires a group; this one is never joined.
                "group.id": f"{self.name}.none",
                "enable.auto.commit": False,
                "enable.auto.offset.store": False,
                "enable.partition.eof": True,
                "auto.offset.reset": "earliest",
                "fetch.wait.max.ms": 100,
                "fetch.message.max.bytes": RECORD_BYTES_MAX,
                "queued.max.messages.kbytes": 64 * 1024,
            },
            logger=_LOG,
        )

    def group_consumer(self, group: str, topics: Sequence[str]) -> Consumer:
        """A member of a consumer group, which begins at the group's committed offsets."""
        consumer = Consumer(
            {
                **self._client(),
                "group.id": group,
                "auto.offset.reset": "earliest",
                "partition.assignment.strategy": "cooperative-sticky",
                "session.timeout.ms": 10_000,
            },
            logger=_LOG,
        )
        consumer.subscribe(list(topics))
        return consumer

    def admin(self) -> AdminClient:
        return AdminClient(self._client(), logger=_LOG)

    def _client(self) -> dict[str, Any]:
        return {
            "bootstrap.servers": self.servers,
            "client.id": "metatide-connect",
            "reconnect.backoff.max.ms": 1000,
            **self.security,
        }


def reason(error: KafkaException) -> str:
    """The error as a short text."""
    return str(error.args[0].str())
