"""The signals topic, which all connectors share."""

from collections.abc import Callable
from contextlib import suppress

import structlog
from confluent_kafka import Consumer, KafkaError, KafkaException, Message
from confluent_kafka.cimpl import NewTopic

from connectors.producer import join_group
from hive.errors import MachineError, PublishError, RecordFormatError, UnwritableRecordError
from state.records.signals import AnySignal, decode_signal, signals_topic
from state.topic import Topic
from state.topic.settings import REQUEST_TIMEOUT_S, reason

log = structlog.get_logger()
_SETTINGS = {"cleanup.policy": "delete", "retention.ms": str(24 * 3600 * 1000)}
"""Old signals are worthless: whoever still misses a load asks again."""
_AT_ONCE = 500
_WAIT_S = 1.0


class SignalsConsumer:
    """One connector's share of the signals; the consumer group delivers each until it was taken.

    A connector that ends before it has answered a request loses it: whoever still misses the load
    asks again. An order is taken once it is written, and writing it twice changes nothing.
    """

    def __init__(self, topic: Topic) -> None:
        self._name = signals_topic(topic.name)
        create(topic)
        self._consumer: Consumer = join_group(topic, f"{topic.name}.loads", [self._name])
        self.partitions = 0
        """The partitions whose signals this connector gets."""

    def read(self, take: Callable[[AnySignal, int], None], unreadable: Callable[[], None]) -> None:
        """Hands on each new signal with its offset; waits briefly when there is none.

        If `take` raises a MachineError, the next consumer gets this signal and all that follow.
        """
        try:
            first = self._consumer.poll(_WAIT_S)
            more = self._consumer.consume(_AT_ONCE, 0) if first is not None else []
        except KafkaException as error:
            raise PublishError(f"{self._name} can't be read: {reason(error)}") from error
        self.partitions = len(self._consumer.assignment())
        for message in [*filter(None, [first]), *more]:
            fault = message.error()
            if fault is not None:
                if fault.fatal():
                    raise PublishError(f"{self._name} can't be read: {fault.str()}")
                continue
            try:
                take(decode_signal(message.value() or b""), message.offset() or 0)
            except (RecordFormatError, UnwritableRecordError) as error:
                unreadable()
                log.warning("a signal can't be read", why=str(error), offset=message.offset())
            except MachineError:
                raise
            except Exception:
                # It would fail again.
                self._pass(message)
                raise
            self._pass(message)

    def _pass(self, message: Message) -> None:
        # Whoever has got the partition meanwhile takes it again.
        with suppress(KafkaException):
            self._consumer.store_offsets(message)

    def close(self) -> None:
        """Leaves the group, so that the other connectors take over."""
        self._consumer.close()


def create(topic: Topic) -> None:
    """Creates the signals topic unless it exists."""
    wanted = NewTopic(signals_topic(topic.name), topic.shards, -1, config=_SETTINGS)
    admin = topic.admin()
    for answer in admin.create_topics([wanted], request_timeout=REQUEST_TIMEOUT_S).values():
        try:
            answer.result()
        except KafkaException as error:
            if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                raise PublishError(
                    f"the topic {wanted.topic} can't be created at {topic.servers}: {reason(error)}"
                ) from error
