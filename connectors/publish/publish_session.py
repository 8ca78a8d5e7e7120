"""The work of a connector from the positions in the topic to the first fault."""

import time
from collections.abc import Collection, Iterator
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING

import structlog

from connectors.log.gaps import GapWatch, LogGap
from connectors.log.listener import ListenerWatch
from connectors.log.source import OpenTxns, Poll, Source, rows_hash, rows_mark
from connectors.metrics import Fault, Metrics
from connectors.publish.event_writer import EventWriter
from connectors.publish.follower import Follower
from connectors.publish.history_watch import HistoryWatch
from connectors.publish.publisher import Publisher
from connectors.publish.sender import Sender
from connectors.publish.tails import Tails
from connectors.publish.watermark import Watermark
from connectors.settings import Pace
from hive.events.row import NotificationRow
from hive.listener import KEEP_EVENTS, MAKE_TRANSACTIONAL
from state.topic import Topic

if TYPE_CHECKING:
    from state.tracing import Tracing

log = structlog.get_logger()
_event_id = attrgetter("event_id")


class EpochChanged(Exception):  # noqa: N818
    """Another connector has begun an epoch: resume from what the topic holds."""


class PublishSession:
    """Publishes the log's events after the tails, step by step."""

    def __init__(
        self,
        source: Source,
        topic: Topic,
        sender: Sender,
        tails: Tails,
        *,
        pace: Pace,
        metrics: Metrics,
        watermark: Watermark,
        tracing: "Tracing | None" = None,
    ) -> None:
        self._topic = topic
        self._tracing = tracing
        self._source = source
        self._pace = pace
        self._metrics = metrics
        self._watermark = watermark
        self.position = tails.lowest
        """The last event that was published."""
        self.sequence = 0
        """The last event of the database at the last poll."""
        self._hash: bytes | None = None
        self._mark = 0
        self._marks: dict[int, int] = {}
        """Of the rows that were published since the watermark rose."""
        # Brokers may have deleted since what this connector knows them to have had.
        reached = max(tails.loaded, watermark.furthest(tails.epoch))
        self.history = HistoryWatch(source, tails, reached, metrics)
        self._gaps = GapWatch(pace.gap_ms)
        self._progress_at = 0.0
        self._complete_at = time.monotonic()
        self._listener = ListenerWatch()
        self._open: OpenTxns | None = None
        self._open_asked_at: float | None = None
        self._sent_at: float | None = None
        """When what brokers haven't acknowledged was read, the first of it."""
        self.must_compare = False
        """Whether to compare what brokers hold with the log before anything else is published: they
        took what was sent so late that the database may have lost it meanwhile, and another
        connector may have published other events."""
        self._is_calm = False
        """Whether the last step left nothing to publish."""
        self._publisher = Publisher(topic, sender, tails, metrics)
        self._events = EventWriter(source, self._publisher, self._listener, metrics)
        self._follower = Follower(topic, tails)

    @property
    def is_doubtful(self) -> bool:
        """Whether brokers may have taken, or take yet, what was sent so long after it was read."""
        waits = self._sent_at is not None or self._publisher.unacknowledged > 0
        return waits or self.must_compare

    def compare(self, tails: Tails) -> bool:
        """Has these tails compared with the log before anything else is published: brokers answer
        a session sooner that they know. False if another must begin, because there is an epoch that
        this one doesn't know, or because brokers have lost what it has published."""
        epoch, published = self._publisher.epoch, self._publisher.uptos
        if tails.epoch != epoch or tails.trace != epoch:
            return False
        if any(upto is None or upto < own for upto, own in zip(tails.upto, published, strict=True)):
            return False
        self.history.compare(tails)
        self._is_calm = self.must_compare = False
        return True

    def close(self) -> None:
        self._follower.close()

    def step(self) -> bool:
        """Polls once and publishes what is new; returns whether there was anything."""
        looked_at, looked_before = time.monotonic(), self._complete_at
        history = self.history
        if self._is_calm and self._source.rests(self.position, history.furthest.event_id):
            self._complete_at = looked_at
            return False
        self._is_calm = False
        self._follower.catch_up()
        if self._follower.epoch > self._publisher.epoch:
            raise EpochChanged
        history.published(*self._follower.furthest)
        poll = self._source.poll(self.position, history.furthest.event_id)
        self.sequence = poll.current
        if history.check(poll):
            # That takes so long for many events that rows of before would be published late.
            self._watermark.rise(self._publisher.epoch, self._publisher.uptos)
            return True
        before = self.position
        published = self._publish(poll)
        if self.position == before and poll.current > before:
            gap = self._gaps.look(self._source.bounds(before), before)
            if gap is not None:
                self._skip(gap)
        self._report_progress()
        self._report_transactions()
        if self._sent_at is None and self._publisher.unacknowledged:
            self._sent_at = looked_at
        if self.position < poll.current and self.position > before and not self._flush_is_due:
            # When the connector is far behind, the next rows are read while these are being sent.
            self._publisher.serve()
        else:
            self._flush()
        exemplar = None
        if published and self._tracing is not None:
            rows = [row for row in poll.rows if row.event_id <= self.position]
            exemplar = self._tracing.published(
                self._topic.name, self._publisher.epoch, rows, looked_at
            )
        self._measure(poll, looked_at, looked_before, published, exemplar)
        complete = self._publisher.complete_to == poll.current
        self._is_calm = complete and self._open is None
        return self.position > before

    @property
    def _flush_is_due(self) -> bool:
        """Whether more reading would count as a delay of the brokers."""
        sent_at, patience_s = self._sent_at, self._pace.acknowledged_s_max
        return sent_at is not None and time.monotonic() - sent_at > patience_s / 4

    def _flush(self) -> None:
        self._publisher.flush()
        sent_at, self._sent_at = self._sent_at, None
        if sent_at is not None and time.monotonic() - sent_at > self._pace.acknowledged_s_max:
            self.must_compare = True
        else:
            self._watermark.rise(self._publisher.epoch, self._publisher.uptos, self._marks)
            self._marks = {}

    def _publish(self, poll: Poll) -> int:
        """Publishes the rows up to the first gap; returns the number of events."""
        published = 0
        for event_id, rows in _by_id(poll.rows):
            if event_id != self.position + 1:
                break
            self._publish_event(event_id, rows)
            published += 1
        if published:
            self._gaps.passed()
        return published

    def _publish_event(self, event_id: int, rows: list[NotificationRow]) -> None:
        row_hash, mark = rows_hash(rows), rows_mark(rows)
        self._events.write(event_id, rows, row_hash, mark)
        self.position, self._hash, self._mark = event_id, row_hash, mark
        if mark:
            self._marks[event_id] = mark
        self.history.published(event_id, row_hash)

    def _skip(self, gap: LogGap) -> None:
        if self.history.furthest.event_id:
            self._metrics.failed(Fault.GAP)
            log.error(
                "events are missing in the log; everything is answered by the database until it "
                "is loaded again",
                first=gap.first,
                last=gap.last,
                why=gap.why,
                remedy=f"let connectors run, and {KEEP_EVENTS}",
            )
        else:
            log.info("the log begins late; tables from before are loaded", event_id=gap.last + 1)
        self._publisher.skip(gap.last)
        self._events.miss()
        self.position, self._hash, self._mark = gap.last, None, 0
        self.history.published(gap.last, None)
        self._gaps.passed()

    def _report_progress(self) -> None:
        now = time.monotonic()
        if now - self._progress_at >= self._pace.progress_ms / 1000:
            self._progress(range(self._publisher.shards))
            self._progress_at = now
        else:
            # Each record costs a worker a commit, so only shards that loads wait for get one.
            self._progress(self._watermark.wanted(self.position))

    def _progress(self, shards: Collection[int]) -> None:
        self._publisher.progress(self.position, self._hash, self._mark, shards)

    def _report_transactions(self) -> None:
        now = time.monotonic()
        open_asked_at = self._open_asked_at
        if self._open is None and (
            open_asked_at is None or now - open_asked_at >= self._pace.transactions_s
        ):
            self._open, self._open_asked_at = self._source.open_transactions(), now
            self._listener.look(self._open)
        opened = self._open
        if opened is None or opened.at > self.position:
            return
        self._open = None
        self._progress(range(self._publisher.shards))
        self._publisher.open_transactions(opened)
        unlogged = self._listener.unlogged()
        if unlogged:
            self._metrics.failed(Fault.LISTENER)
            log.error(
                "transactions are open that no event tells of: the metastore's listener isn't "
                "transactional, so events may be lost and `latest` doesn't hold",
                transactions=unlogged[:10],
                remedy=MAKE_TRANSACTIONAL,
            )

    def _measure(
        self,
        poll: Poll,
        looked_at: float,
        before: float,
        read: int,
        exemplar: dict[str, str] | None,
    ) -> None:
        now = time.monotonic()
        metrics = self._metrics
        metrics.events.inc(read)
        metrics.position.set(self.position)
        metrics.looked_s.set(time.time())
        lag = max(0, poll.current - self.position)
        metrics.lag_events.set(lag)
        if read:
            metrics.publish_s.observe(now - before, exemplar)
        if not lag:
            self._complete_at = looked_at
        metrics.lag_ms.set((now - self._complete_at) * 1000 if lag else 0)


def _by_id(rows: list[NotificationRow]) -> Iterator[tuple[int, list[NotificationRow]]]:
    for event_id, same in groupby(rows, key=_event_id):
        yield event_id, list(same)
