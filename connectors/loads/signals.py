"""The signals topic, which all connectors share."""

from collections.abc import Callable

import structlog
from confluent_kafka import Consumer, KafkaError, KafkaException
from confluent_kafka.cimpl import NewTopic

from connectors.kafka_clients import TIMEOUT_S, KafkaTopic, reason
from hive.errors import PublishError, RecordFormatError
from state.records.signals import AnySignal, decode_signal, signals_topic

log = structlog.get_logger()
_SETTINGS = {"cleanup.policy": "delete", "retention.ms": str(24 * 3600 * 1000)}
"""Who still misses something asks again, so old asks are worth nothing."""
_AT_ONCE = 500
_WAIT_S = 0.2


class SignalsConsumer:
    """This connector's share of the signals; what it took isn't brought to another.

    If it ends before it has done what it was asked for, whoever misses that asks again.
    """

    def __init__(self, topic: KafkaTopic) -> None:
        self._name = signals_topic(topic.name)
        create(topic)
        self._consumer: Consumer = topic.group_consumer(f"{topic.name}.loads", [self._name])

    def read(self, take: Callable[[AnySignal, int], None], unreadable: Callable[[], None]) -> None:
        """Hands on what came with its offset, and waits a little if there is nothing."""
        try:
            messages = self._consumer.consume(_AT_ONCE, _WAIT_S)
        except KafkaException as error:
            raise PublishError(f"{self._name} can't be read: {reason(error)}") from error
        for message in messages:
            fault = message.error()
            if fault is not None:
                if fault.fatal():
                    raise PublishError(f"{self._name} can't be read: {fault.str()}")
                continue
            try:
                take(decode_signal(message.value() or b""), message.offset() or 0)
            except RecordFormatError as error:
                unreadable()
                log.warning("a signal can't be read", why=str(error), offset=message.offset())

    def close(self) -> None:
        """Lets the others have the rest."""
        self._consumer.close()


def create(topic: KafkaTopic) -> None:
    """Makes the signals topic where there is none."""
    wanted = NewTopic(signals_topic(topic.name), topic.shards, -1, config=_SETTINGS)
    # What it is asked ends with the client.
    admin = topic.admin()
    for answer in admin.create_topics([wanted], request_timeout=TIMEOUT_S).values():
        try:
            answer.result()
        except KafkaException as error:
            if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                raise PublishError(f"{wanted.topic} can't be created: {reason(error)}") from error
