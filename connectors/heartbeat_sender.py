"""Publishes a connector's state once a second to a topic of its own."""

import threading
from collections.abc import Callable
from typing import Final

import structlog
from confluent_kafka import KafkaException, Producer
from confluent_kafka.cimpl import NewTopic

from hive.errors import MetatideError
from state.records.heartbeats import EVERY_S, Heartbeat, encode_heartbeat
from state.topic import Topic
from state.topic.creation import create_missing
from state.topic.settings import QUIET, reason

log = structlog.get_logger()

_SETTINGS: Final = {
    "cleanup.policy": "delete",
    "retention.ms": str(3600 * 1000),
    "segment.ms": str(600 * 1000),
    # Readers tell how old a heartbeat is by the brokers' clock alone.
    "message.timestamp.type": "LogAppendTime",
}
_TIMEOUT_MS: Final = 3_000
"""A heartbeat that the brokers didn't take in this time says nothing any more."""
_WAITING_MAX: Final = 16
_END_S: Final = 1.0


class HeartbeatSender:
    """Sends them from a thread of its own, so that a connector that is stuck says that it is."""

    def __init__(self, topic: Topic, describe: Callable[[], Heartbeat]) -> None:
        self._topic = topic
        self._describe = describe
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="heartbeats", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Sends a last heartbeat, which says that the connector has ended."""
        self._stopped.set()
        self._thread.join()

    def _run(self) -> None:
        producer: Producer | None = None
        while not self._stopped.is_set():
            if producer is None and self._create():
                producer = self._make_producer()
            if producer is not None:
                self._send(producer, self._describe())
            self._stopped.wait(EVERY_S)
        if producer is not None:
            self._send(producer, self._last())
            producer.flush(_END_S)
            producer.purge()
            producer.close()

    def _make_producer(self) -> Producer:
        return Producer(
            {
                **self._topic.client,
                "client.id": "metatide-connect",
                "message.timeout.ms": _TIMEOUT_MS,
                "queue.buffering.max.messages": _WAITING_MAX,
                "linger.ms": 0,
            },
            logger=QUIET,
        )

    def _last(self) -> Heartbeat:
        heartbeat = self._describe()
        return Heartbeat(
            name=heartbeat.name, host=heartbeat.host, address=heartbeat.address, ended=True
        )

    def _send(self, producer: Producer, heartbeat: Heartbeat) -> None:
        try:
            producer.produce(self._topic.heartbeats, encode_heartbeat(heartbeat), partition=0)
        except BufferError:
            log.debug("a heartbeat was left out")
        except KafkaException as error:
            log.debug("a heartbeat wasn't sent", why=reason(error))
        producer.poll(0)

    def _create(self) -> bool:
        """Creates the topic unless it exists; False if the brokers can't be reached."""
        try:
            create_missing(self._topic, NewTopic(self._topic.heartbeats, 1, -1, config=_SETTINGS))
        except MetatideError as error:
            why = str(error)
        except KafkaException as error:
            why = reason(error)
        else:
            return True
        log.debug("the topic of heartbeats can't be created", why=why)
        return False
