"""How far each shard has come in the topic: the only memory that a connector has."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import OffsetSpec  # type: ignore[attr-defined]

from connectors import headers
from connectors.headers import RecordHeaders, RecordKind
from connectors.kafka_clients import TIMEOUT_S, KafkaTopic, reason
from connectors.published_history import PublishedEvent
from hive.errors import PublishError

WINDOW_RECORDS = 256
_GROWTH = 8
_AT_ONCE = 1_000
_CONSUME_S = 0.02
_SILENCE_S_MAX = 30.0


@dataclass
class Tail:
    """The position of one shard, as far as the records seen tell it."""

    epoch: int = -1
    upto: int = 0
    hash: bytes | None = None
    _reset: bool = field(default=False, repr=False)

    @property
    def found(self) -> bool:
        return self.epoch >= 0

    def see(self, head: RecordHeaders | None) -> None:
        """Takes note of a record; records come in the order of the topic.

        The change with the highest event counts: everything before it was written before it, and a
        connector that wakes late only repeats older ones. Of several resets to one epoch the first
        counts, as in the fold, until a change follows.
        """
        if head is None or head.epoch < self.epoch:
            return
        newer = head.epoch > self.epoch
        if head.moves and (newer or self._reset or head.upto >= self.upto):
            self._take(head, reset=False)
        elif head.kind is RecordKind.RESET and newer:
            self._take(head, reset=True)

    def _take(self, head: RecordHeaders, *, reset: bool) -> None:
        self.epoch, self.upto, self.hash, self._reset = head.epoch, head.upto, head.hash, reset


@dataclass(frozen=True)
class Tails:
    """The positions of all shards in the latest epoch of any of them."""

    epoch: int
    upto: tuple[int | None, ...]
    """The position of each shard; None for one that hasn't reached the epoch."""
    known: PublishedEvent
    ends: tuple[int, ...]
    """The end offset of each shard."""

    @property
    def lowest(self) -> int:
        """The event to resume from: every shard has all events up to it."""
        return min((upto for upto in self.upto if upto is not None), default=0)

    @property
    def behind(self) -> tuple[int, ...]:
        """The shards that haven't reached the epoch."""
        return tuple(shard for shard, upto in enumerate(self.upto) if upto is None)


def find(topic: KafkaTopic) -> Tails:
    """Searches every partition backwards, in growing windows, for its last position."""
    first, ends = offsets(topic)
    tails = {shard: Tail() for shard in range(topic.shards)}
    consumer = topic.consumer()
    try:
        window, missing = WINDOW_RECORDS, set(tails)
        while missing:
            starts = {shard: max(first[shard], ends[shard] - window) for shard in missing}
            _look(consumer, topic.name, tails, starts, ends)
            missing = {
                shard
                for shard in missing
                if not tails[shard].found and starts[shard] > first[shard]
            }
            window *= _GROWTH
    finally:
        consumer.close()
    return _together(tails, ends)


def offsets(topic: KafkaTopic) -> tuple[dict[int, int], dict[int, int]]:
    """The first offset of every partition, and its end offset."""
    admin = topic.admin()
    offsets_of = []
    specs: list[Any] = [OffsetSpec.earliest(), OffsetSpec.latest()]  # type: ignore[no-untyped-call]
    for spec in specs:
        partitions = {TopicPartition(topic.name, shard): spec for shard in range(topic.shards)}
        try:
            answers = admin.list_offsets(partitions, request_timeout=TIMEOUT_S)
            offsets_of.append(
                {at.partition: answer.result().offset for at, answer in answers.items()}
            )
        except KafkaException as error:
            raise PublishError(
                f"the offsets of {topic.name} can't be read: {reason(error)}"
            ) from error
    return offsets_of[0], offsets_of[1]


def _look(
    consumer: Consumer,
    name: str,
    tails: Mapping[int, Tail],
    starts: Mapping[int, int],
    ends: Mapping[int, int],
) -> None:
    """Reads each partition from its start to its end."""
    reading = {shard for shard in starts if starts[shard] < ends[shard]}
    if not reading:
        return
    consumer.assign([TopicPartition(name, shard, starts[shard]) for shard in sorted(reading)])
    heard_at = time.monotonic()
    while reading:
        messages = consumer.consume(_AT_ONCE, _CONSUME_S)
        if messages:
            heard_at = time.monotonic()
        elif time.monotonic() - heard_at > _SILENCE_S_MAX:
            raise PublishError(f"{name} can't be read: nothing came for {_SILENCE_S_MAX:g} s")
        for message in messages:
            shard, offset, error = message.partition(), message.offset(), message.error()
            if shard not in reading:
                continue
            if error is None:
                tails[shard].see(headers.read(message.headers()))
            elif error.code() != KafkaError._PARTITION_EOF:  # noqa: SLF001
                raise PublishError(f"{name}, partition {shard} can't be read: {error.str()}")
            if error is not None or offset is None or offset >= ends[shard] - 1:
                reading.discard(shard)
    consumer.unassign()


def _together(tails: Mapping[int, Tail], ends: Mapping[int, int]) -> Tails:
    shards = sorted(tails)
    epoch = max(0, *(tails[shard].epoch for shard in shards))
    current = [tail for tail in tails.values() if tail.epoch == epoch]
    furthest = max(current, key=lambda tail: (tail.upto, tail.hash or b""), default=Tail())
    # An empty partition has no epoch yet: it begins with epoch 0.
    upto = [
        tails[shard].upto if tails[shard].epoch == epoch or epoch == 0 else None for shard in shards
    ]
    return Tails(
        epoch,
        tuple(upto),
        PublishedEvent(furthest.upto, furthest.hash),
        tuple(ends[shard] for shard in shards),
    )
