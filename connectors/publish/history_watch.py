"""Checks with each poll that the log still holds what was published of it."""

from connectors.log.source import Poll, Source
from connectors.metrics import Fault, Metrics
from connectors.publish import published_history
from connectors.publish.published_history import PublishedEvent
from connectors.publish.tails import Tails


class HistoryChanged(Exception):  # noqa: N818
    """The log has a history other than the published one: an epoch must begin."""

    def __init__(self, why: str, current: int) -> None:
        super().__init__(why)
        self.current = current


class HistoryWatch:
    """Compares the log with everything that the tails tell, and from then on with the last event
    that was published."""

    def __init__(self, source: Source, tails: Tails, reached: int, metrics: Metrics) -> None:
        self._source = source
        self._metrics = metrics
        self.furthest = tails.furthest
        """The last event that any connector has published."""
        self._reached = reached
        """The last event that the log is known to have had."""
        self._written_s: dict[int, int] = {}
        """When the event that was checked last was written: the topic doesn't tell it."""
        self._unchecked = tails.published
        """What is to be compared with the log before anything is published."""
        self.ends = tails.ends
        """The end of each shard up to which that was searched for."""
        self.has_compared = False

    def compare(self, tails: Tails) -> None:
        """Has the next check compare everything that these tails tell."""
        self._unchecked, self.ends, self.has_compared = tails.published, tails.ends, False
        self.published(*tails.furthest)
        self._reached = max(self._reached, tails.loaded)

    def published(self, event_id: int, row_hash: bytes | None) -> None:
        """Takes note of what any connector has published; an earlier event says nothing new."""
        if event_id > self.furthest.event_id:
            self.furthest = PublishedEvent(event_id, row_hash)

    def check(self, poll: Poll) -> bool:
        """Raises HistoryChanged if the log has another history; returns whether more than the last
        event was compared with it."""
        unchecked = self._unchecked
        other = published_history.check(poll, self.furthest, self._reached)
        if other is None and unchecked:
            hashes = self._source.hashes(sorted({event.event_id for event in unchecked}))
            other = published_history.check_all(hashes, unchecked)
        if other is None and self.furthest.hash is not None and poll.checked is None:
            event = self.furthest.event_id
            older = self._source.older(event, self._written_s.get(event))
            other = published_history.check_missing(older, self.furthest)
        if other is not None:
            self._metrics.failed(Fault.HISTORY)
            raise HistoryChanged(other.why, poll.current)
        self._unchecked, self.has_compared = frozenset(), True
        if poll.checked_s is not None:
            self._written_s = {self.furthest.event_id: poll.checked_s}
        if self.furthest.hash is None:
            self.furthest = PublishedEvent(self.furthest.event_id, poll.checked)
        return bool(unchecked)
