"""Writes to the signals topic: requests for loads, and operators' orders."""

import asyncio

import structlog
from confluent_kafka import KafkaError, KafkaException, Producer

from hive.errors import TopicError
from state.records.signals import AnySignal, LoadRequest, encode_signal, signal_key
from state.topic import Topic
from state.topic.creation import create_signals
from state.topic.settings import QUIET, REQUEST_TIMEOUT_S, reason

log = structlog.get_logger(__name__)


class SignalsProducer:
    """Sends signals from one event loop, whose task polls for their acknowledgements."""

    def __init__(self, topic: Topic) -> None:
        self._topic = topic
        self._name = topic.signals
        # Not idempotent: a request that comes twice is one, and brokers that lose records have an
        # idempotent producer fail for good.
        self._producer = Producer(
            {
                **topic.client,
                "queue.buffering.max.messages": 10_000,
                "message.timeout.ms": 10_000,
            },
            logger=QUIET,
        )

    @property
    def unacknowledged(self) -> int:
        return len(self._producer)

    def make_topic(self) -> bool:
        """Creates the signals topic unless it exists; returns whether it does."""
        admin = self._topic.admin()
        try:
            if self._name not in admin.list_topics(timeout=REQUEST_TIMEOUT_S).topics:
                create_signals(self._topic)
        except KafkaException as error:
            log.info("the signals topic wasn't created", why=reason(error))
            return False
        return True

    def request(self, request: LoadRequest) -> bool:
        """Sends a request for a load; returns whether it could."""
        try:
            self._producer.produce(
                self._name,
                encode_signal(request),
                signal_key(request),
                on_delivery=_log_undelivered,
            )
        except (BufferError, KafkaException) as error:
            log.warning("a load can't be requested", scope=str(request.scope)[:200], why=str(error))
            return False
        return True

    def order(self, signal: AnySignal) -> "asyncio.Future[None]":
        """Sends an order; the future is done when the signals topic has it."""
        loop = asyncio.get_running_loop()
        acknowledged: asyncio.Future[None] = loop.create_future()

        def settle(error: KafkaError | None) -> None:
            if acknowledged.done():
                return
            if error is None:
                acknowledged.set_result(None)
            else:
                why = f"{self._name} didn't take it: {reason(error)}"
                acknowledged.set_exception(TopicError(why))

        def tell(error: KafkaError | None, _: object) -> None:
            # At the end another thread waits for what is on its way.
            loop.call_soon_threadsafe(settle, error)

        try:
            self._producer.produce(
                self._name, encode_signal(signal), signal_key(signal), on_delivery=tell
            )
        except BufferError:
            raise TopicError(f"too many messages wait for {self._name}; try again") from None
        except KafkaException as error:
            raise TopicError(f"{self._name} can't take the order: {reason(error)}") from None
        return acknowledged

    def poll(self) -> None:
        """Takes the acknowledgements that have arrived; never waits."""
        self._producer.poll(0)

    def flush(self) -> None:
        """Waits for a moment until what was sent is acknowledged."""
        self._producer.flush(1.0)


def _log_undelivered(error: object, _: object) -> None:
    if error is not None:
        log.warning("a request for a load wasn't sent", why=str(error))
