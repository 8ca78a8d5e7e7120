"""Clients of the broker, set up for a topic that is all there is of the cache."""

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
"""How many records may wait for the brokers, unless something else is said."""
_WAITING_KIB_MAX = 256 * 1024

# librdkafka writes connection errors to stderr otherwise.
_LOG = logging.getLogger(__name__)
_LOG.addHandler(logging.NullHandler())
_LOG.propagate = False


@dataclass(frozen=True)
class KafkaTopic:
    """The events topic, and how its brokers are reached."""

    servers: str
    name: str
    shards: int
    security: Mapping[str, str] = field(default_factory=dict)
    """TLS and SASL in librdkafka's words."""

    @property
    def dead_letter(self) -> str:
        """Where rows go that can't be read."""
        return f"{self.name}.dead-letter"

    def producer(self, on_error: Any = None, waiting_max: int = WAITING_RECORDS_MAX) -> Producer:
        """Never leaves a hole: a record that isn't taken ends the producer.

        By itself it waits for a broker that is away for as long as that takes.
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
                # Large batches cost less when far behind; flushing, for who waits, doesn't linger.
                "linger.ms": 50,
                # A report of success would cost more than the rest of a record; flush() waits.
                "delivery.report.only.error": True,
                **({} if on_error is None else {"on_delivery": on_error}),
            },
            logger=_LOG,
        )

    def consumer(self) -> Consumer:
        """Reads partitions that it is told to; belongs to no group."""
        return Consumer(
            {
                **self._client(),
                # Never joined, but the library wants one.
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
        """Shares topics with the others of its group, from what these have taken on."""
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
    """What went wrong, in words."""
    return str(error.args[0].str())
