"""Kafka clients of connectors, set up for a topic that is the only copy of the cache's history."""

from collections.abc import Sequence
from typing import Any, Final

from confluent_kafka import Consumer, Producer

from state.topic import Topic
from state.topic.settings import QUIET, RECORD_BYTES_MAX

WAITING_RECORDS_MAX = 200_000
"""How many records may wait for the brokers by default."""
_WAITING_KIB_MAX = 256 * 1024
_CLIENT_ID: Final = "metatide-connect"


def make_producer(
    topic: Topic, on_error: Any = None, waiting_max: int = WAITING_RECORDS_MAX
) -> Producer:
    """A producer that never leaves a hole: if the brokers refuse a record, it sends no other.

    It waits without limit for brokers that are away.
    """
    return Producer(
        {
            **topic.client,
            "client.id": _CLIENT_ID,
            "enable.idempotence": True,
            "enable.gapless.guarantee": True,
            "message.timeout.ms": 0,
            "message.max.bytes": RECORD_BYTES_MAX,
            "queue.buffering.max.messages": waiting_max,
            "queue.buffering.max.kbytes": _WAITING_KIB_MAX,
            "compression.type": "lz4",
            # Large batches cost less when far behind; `flush` doesn't wait for `linger.ms`.
            "linger.ms": 50,
            # A delivery report costs more than all else about a record; flush() waits for all.
            "delivery.report.only.error": True,
            **({} if on_error is None else {"on_delivery": on_error}),
        },
        logger=QUIET,
    )


def join_group(topic: Topic, group: str, topics: Sequence[str]) -> Consumer:
    """A member of a consumer group, which begins at the group's committed offsets. Only those are
    committed that it stores."""
    consumer = Consumer(
        {
            **topic.client,
            "client.id": _CLIENT_ID,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "enable.auto.offset.store": False,
            "partition.assignment.strategy": "cooperative-sticky",
            "session.timeout.ms": 10_000,
        },
        logger=QUIET,
    )
    consumer.subscribe(list(topics))
    return consumer
