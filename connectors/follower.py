"""What other connectors write. One shard is enough to see it: a reset goes to every shard."""

from confluent_kafka import KafkaError, TopicPartition

from connectors import headers
from connectors.headers import RecordKind
from connectors.kafka_clients import KafkaTopic
from connectors.published_history import PublishedEvent
from connectors.tails import Tails
from hive.errors import PublishError

SHARD = 0
_AT_ONCE = 1_000


class Follower:
    """Reads the new records of one shard behind its tail."""

    def __init__(self, topic: KafkaTopic, tails: Tails) -> None:
        self.epoch = tails.epoch
        """The latest epoch that any connector has begun."""
        self.furthest = tails.known
        """The last event that any connector has published in our epoch."""
        self._name = topic.name
        self._ours = tails.epoch
        self._consumer = topic.consumer()
        self._consumer.assign([TopicPartition(topic.name, SHARD, tails.ends[SHARD])])

    def catch_up(self) -> None:
        """Reads the records that have arrived; never waits."""
        count = _AT_ONCE
        while count == _AT_ONCE:
            messages = self._consumer.consume(_AT_ONCE, 0)
            count = len(messages)
            for message in messages:
                error = message.error()
                if error is None:
                    self._see(headers.read(message.headers()))
                elif error.code() != KafkaError._PARTITION_EOF and not error.retriable():  # noqa: SLF001
                    raise PublishError(f"{self._name} can't be followed: {error.str()}")

    def close(self) -> None:
        self._consumer.close()

    def _see(self, head: headers.RecordHeaders | None) -> None:
        if head is None:
            return
        if head.kind is RecordKind.RESET or head.moves:
            self.epoch = max(self.epoch, head.epoch)
        if head.moves and head.epoch == self._ours and head.upto > self.furthest.event_id:
            self.furthest = PublishedEvent(head.upto, head.hash)
