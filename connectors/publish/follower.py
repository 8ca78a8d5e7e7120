"""Watches what other connectors write. One shard is enough, because a reset goes to every shard."""

from connectors.publish import headers
from connectors.publish.published_history import PublishedEvent
from connectors.publish.tails import Tails
from state.records.epochs import follows
from state.topic import Topic
from state.topic.partitions import WATCH_WAIT_MS, PartitionsReader

SHARD = 0


class Follower:
    """Reads the records of one shard that come after its tail."""

    def __init__(self, topic: Topic, tails: Tails) -> None:
        self.epoch = tails.epoch
        """The latest epoch that any connector has begun."""
        self.furthest = tails.furthest
        """The last event that any connector has published in our epoch."""
        self._ours = tails.epoch
        self._reader = PartitionsReader(topic, WATCH_WAIT_MS)
        self._reader.begin({SHARD: tails.ends[SHARD]})

    def catch_up(self) -> None:
        """Reads the records that have arrived; never waits."""
        for message in self._reader.arrived():
            self._see(headers.read(message.headers()))

    def close(self) -> None:
        self._reader.close()

    def _see(self, head: headers.RecordHeaders | None) -> None:
        if head is None:
            return
        is_new = head.epoch > self.epoch and follows(head.epoch, self.epoch)
        if is_new and head.sets_position:
            self.epoch = head.epoch
        if head.moves and head.epoch == self._ours and head.upto > self.furthest.event_id:
            self.furthest = PublishedEvent(head.upto, head.hash)
