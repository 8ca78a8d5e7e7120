"""Sends records to the brokers in order and within limits, or raises an error."""

from collections.abc import Callable
from contextlib import suppress
from functools import partial

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from connectors.publish.headers import Headers
from connectors.publish.producer import WAITING_RECORDS_MAX, make_producer
from hive.errors import PublishError, StoppedError, UnwritableRecordError
from state.topic import Topic
from state.topic.settings import reason
from state.topic.silence import Silence

_LOOK_S = 0.05


class Sender:
    """Sends from one thread. The records of a partition arrive in order, or an error is raised.

    It is to be made early and used for long: librdkafka asks for the number by which brokers know
    an idempotent producer half a second after that was made, and sends nothing before.
    """

    def __init__(
        self,
        topic: Topic,
        going_on: Callable[[], bool] = lambda: True,
        *,
        waiting_max: int = WAITING_RECORDS_MAX,
    ) -> None:
        """Waiting ends with StoppedError once `going_on` returns False; unacknowledged records are
        dropped."""
        self._servers = topic.servers
        self._going_on = going_on
        self._refused: str | None = None
        """Why the first record was refused, as soon as that is reported."""
        self._failed: str | None = None
        """What the producer failed with, which it says once, maybe before that report."""
        try:
            self._producer: Producer = make_producer(topic, self._report, waiting_max)
        except KafkaException as error:
            # As where a file of certificates is missing while another one takes its place.
            raise PublishError(
                f"nothing can be sent to {topic.servers}: {reason(error)}"
            ) from error

    @property
    def unacknowledged(self) -> int:
        """The number of records that the brokers haven't acknowledged."""
        return len(self._producer)

    def send(self, topic: str, partition: int, value: bytes, written: Headers) -> None:
        """Sends a record; waits while too many are unacknowledged."""
        try:
            self._producer.produce(topic, value, partition=partition, headers=written)
        except BufferError:
            self._wait(partial(self._sent_later, topic, partition, value, written))
        except KafkaException as error:
            raise _refusal(topic, partition, error) from error

    def serve(self) -> None:
        """Raises errors of earlier sends, without waiting."""
        self._served(self._producer.poll, 0)
        self._raise_fault()

    def flush(self) -> None:
        """Returns when the brokers have acknowledged everything."""
        # librdkafka wakes all of its threads for a flush, even of nothing.
        if len(self._producer):
            self._wait(lambda: not self._served(self._producer.flush, _LOOK_S))
        else:
            self._raise_fault()

    def close(self) -> None:
        """Drops unacknowledged records, and ends threads and connections now rather than at garbage
        collection."""
        # A producer that purges records in flight may raise that it can't give its guarantee.
        with suppress(KafkaException):
            self._producer.purge()
            self._producer.close()

    def _sent_later(self, topic: str, partition: int, value: bytes, written: Headers) -> bool:
        self._served(self._producer.poll, _LOOK_S)
        try:
            self._producer.produce(topic, value, partition=partition, headers=written)
        except BufferError:
            return False
        except KafkaException as error:
            raise _refusal(topic, partition, error) from error
        return True

    def _served(self, serve: Callable[[float], int], wait_s: float) -> int:
        """Serves the producer, which raises there that it can send nothing any more: for instance,
        when a leader has lost records that others had acknowledged."""
        try:
            return serve(wait_s)
        except KafkaException as error:
            self._failed = f"the brokers at {self._servers}: {reason(error)}"
            raise PublishError(self._failed) from error

    def _wait(self, look: Callable[[], bool]) -> None:
        """Repeats `look`, which blocks for a moment, until it returns True."""
        waiting, silence = len(self._producer), Silence()
        while not look():
            self._raise_fault()
            if not self._going_on():
                raise StoppedError(f"nothing more is sent to the brokers at {self._servers}")
            before, waiting = waiting, len(self._producer)
            if waiting < before:
                silence.end()
            elif silence.too_long:
                raise PublishError(
                    f"the brokers at {self._servers} took nothing for {silence.max_s:g} s while "
                    f"{waiting} records wait: are they running, and can they be reached?"
                )
        self._raise_fault()

    def _report(self, error: KafkaError, message: Message) -> None:
        self._refused = self._refused or (
            f"the topic {message.topic()} didn't take a record: {reason(error)}"
        )

    def _raise_fault(self) -> None:
        fault = self._refused or self._failed
        if fault is not None:
            raise PublishError(fault)


def _refusal(topic: str, partition: int, error: KafkaException) -> PublishError:
    code = error.args[0].code()
    kind = UnwritableRecordError if code == KafkaError.MSG_SIZE_TOO_LARGE else PublishError
    return kind(f"{topic}, partition {partition}: {reason(error)}")
