"""The signals topic, which all connectors share."""

from collections.abc import Callable
from contextlib import suppress

import structlog
from confluent_kafka import Consumer, KafkaException, Message, TopicPartition

from connectors.publish.producer import join_group
from hive.errors import (
    MachineError,
    PublishError,
    RecordFormatError,
    SourceError,
    UnwritableRecordError,
)
from state.records.signals import (
    AnySignal,
    LoadRequest,
    NewEpochOrder,
    ResetTableOrder,
    decode_signal,
)
from state.topic import Topic
from state.topic.creation import create_signals
from state.topic.settings import reason

log = structlog.get_logger()
_AT_ONCE = 500
_WAIT_S = 1.0
_UNTAKEN_MAX = 1_000
"""With so many failed signals no others are read."""


class SignalsConsumer:
    """One connector's share of the signals; the consumer group delivers each until it was taken.

    A connector that ends before it has answered a request loses it: whoever still misses the load
    asks again. An order is taken once it is written, and writing it twice changes nothing.
    """

    def __init__(self, topic: Topic) -> None:
        self._name = topic.signals
        create(topic)
        self._consumer: Consumer = join_group(topic, f"{topic.name}.loads", [self._name])
        self.partitions = 0
        """The partitions whose signals this connector gets."""
        self._untaken: dict[tuple[int, int], Message] = {}
        """By partition and offset the signals that have failed, to be tried again in this order."""
        self._ends: dict[int, int] = {}
        """By partition the offset behind what was read."""

    def read(
        self, take: Callable[[AnySignal, int], None], unreadable: Callable[[], None]
    ) -> MachineError | None:
        """Hands on each new signal with its offset; waits briefly when there is none.

        A signal for which `take` raises a MachineError is handed on again by the next call, or to
        the next consumer if this one ends; the others don't wait for it. Returns such an error.
        """
        untaken, new = list(self._untaken.values()), self._new()
        fault: MachineError | None = None
        for message in (*untaken, *new):
            place = message.partition() or 0, message.offset() or 0
            self._untaken[place] = message
            self._ends[place[0]] = max(place[1] + 1, self._ends.get(place[0], 0))
            try:
                signal = decode_signal(message.value() or b"")
                if fault is not None and _would_fail(signal, fault):
                    continue
                take(signal, place[1])
            except (RecordFormatError, UnwritableRecordError) as error:
                unreadable()
                log.warning("a signal can't be read", why=str(error), offset=place[1])
            except MachineError as error:
                fault = error
                continue
            except Exception:
                # It would fail again.
                self._pass(place)
                raise
            self._pass(place)
        return fault

    def _new(self) -> list[Message]:
        if len(self._untaken) >= _UNTAKEN_MAX:
            return []
        try:
            first = self._consumer.poll(_WAIT_S)
            more = self._consumer.consume(_AT_ONCE, 0) if first is not None else []
        except KafkaException as error:
            raise PublishError(f"{self._name} can't be read: {reason(error)}") from error
        self.partitions = len(self._consumer.assignment())
        messages = []
        for message in [*filter(None, [first]), *more]:
            fault = message.error()
            if fault is None:
                messages.append(message)
            elif fault.fatal():
                raise PublishError(f"{self._name} can't be read: {fault.str()}")
        return messages

    def _pass(self, place: tuple[int, int]) -> None:
        """Notes that a signal was taken. What is stored ends before the first that wasn't."""
        del self._untaken[place]
        partition = place[0]
        untaken = [offset for where, offset in self._untaken if where == partition]
        stored = TopicPartition(self._name, partition, min([*untaken, self._ends[partition]]))
        # Whoever has got the partition meanwhile takes it again.
        with suppress(KafkaException):
            self._consumer.store_offsets(offsets=[stored])

    def close(self) -> None:
        """Leaves the group, so that the other connectors take over."""
        self._consumer.close()


def _would_fail(signal: AnySignal, fault: MachineError) -> bool:
    """Whether a signal is to wait for what another one has just missed: each attempt takes its
    time."""
    if isinstance(fault, SourceError):
        return isinstance(signal, ResetTableOrder | NewEpochOrder)
    return not isinstance(signal, LoadRequest)


def create(topic: Topic) -> None:
    """Creates the signals topic unless it exists."""
    try:
        create_signals(topic)
    except KafkaException as error:
        raise PublishError(
            f"the topic {topic.signals} can't be created at {topic.servers}: {reason(error)}"
        ) from error
