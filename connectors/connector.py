"""The process that carries events from the log to the topic. It keeps no state of its own:
what it needs after a restart is in the log or in the topic."""

import threading
import time
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import structlog
from confluent_kafka import KafkaException

from connectors import topic_admin
from connectors.loads import signals
from connectors.log.last_event import LastEvent
from connectors.log.pacing import Pacing
from connectors.log.source import Source
from connectors.metrics import Fault, Metrics
from connectors.partitions_watch import PartitionsWatch
from connectors.publish import publisher, tails
from connectors.publish.history_watch import HistoryChanged
from connectors.publish.publish_session import EpochChanged, PublishSession
from connectors.publish.sender import Sender
from connectors.publish.watermark import Watermark
from connectors.settings import Pace
from hive.errors import MachineError, PublishError, SourceError, StoppedError
from state.records.epochs import is_later
from state.topic import Topic
from state.topic.settings import reason

if TYPE_CHECKING:
    from state.tracing import Tracing

log = structlog.get_logger()
_RETRY_S_FIRST = 0.1


@dataclass
class Status:
    """The state that a connector reports to others."""

    waits_for: str | None = "the first look at the log"
    """Why the connector can't publish; None while it can."""
    turned_at: float = field(default_factory=time.monotonic)
    """When the connector last completed a step, or found that it has to wait."""
    polled_at: float = field(default_factory=time.monotonic)
    """When it last read the log and published what was new; until then, when it began."""
    epoch: int = 0
    position: int = 0
    """The last event that it has published."""
    sequence: int = 0
    """The last event that it saw in the database."""


class Connector:
    """Publishes events until it is stopped, and starts over after every fault that may pass."""

    def __init__(
        self,
        source: Source,
        events: Topic,
        *,
        pace: Pace | None = None,
        metrics: Metrics | None = None,
        status: Status | None = None,
        on_epoch: Callable[[int], None] = lambda _: None,
        requested_epoch: Callable[[], int] = lambda: 0,
        watermark: Watermark | None = None,
        tracing: "Tracing | None" = None,
    ) -> None:
        """`on_epoch` is called with each epoch before events are published in it;
        `requested_epoch` returns the latest in which workers have requested loads.
        """
        self._tracing = tracing
        self._on_epoch = on_epoch
        self._requested_epoch = requested_epoch
        self._watermark = watermark or Watermark()
        self._source = source
        self._topic = events
        self._pace = pace or Pace()
        self._metrics = metrics or Metrics()
        self._status = status or Status()
        self._compared_to: tuple[int, ...] = (0,) * events.shards
        """The end of each shard when a session last compared what the topic holds with the log."""
        self._is_doubtful = False
        """Whether something that was published after that may be of another history."""
        self._has_examined_topic = False
        self._stopped = threading.Event()

    def stop(self) -> None:
        """Makes `run` return soon; any thread may call it."""
        self._stopped.set()

    def run(self) -> None:
        """Runs until `stop`; raises only the errors that no retry can mend."""
        wait_s = _RETRY_S_FIRST
        while self._going_on():
            began = time.monotonic()
            try:
                self._live()
            except (SourceError, PublishError, MachineError) as error:
                self._complain(error)
            except KafkaException as error:
                self._complain(PublishError(reason(error)))
            if time.monotonic() - began > self._pace.retry_s_max:
                wait_s = _RETRY_S_FIRST
            self._stopped.wait(wait_s)
            wait_s = min(2 * wait_s, self._pace.retry_s_max)
        self._source.close()

    def _live(self) -> None:
        """Publishes from the tails until a fault; a new epoch isn't a fault."""
        # Workers write to the signals topic as soon as there is a topic of events, and brokers that
        # create what is written to would give it one partition.
        signals.create(self._topic)
        if not topic_admin.create(self._topic) and not self._has_examined_topic:
            topic_admin.warn_of_loss(self._topic)
        self._has_examined_topic = True
        partitions = PartitionsWatch(self._topic)
        with suppress(StoppedError):
            while self._going_on():
                # Each attempt logs in and writes records that are kept, so the database must be
                # there.
                self._source.bounds(0)
                # Unacknowledged records are dropped at its end: the next session, or another
                # connector, sees in the topic what is missing.
                with closing(Sender(self._topic, self._going_on)) as sender:
                    self._publish(sender, partitions)

    def _publish(self, sender: Sender, partitions: PartitionsWatch) -> None:
        """Publishes from the tails until an epoch begins or brokers were late."""
        resumed = self._resume(sender)
        session = PublishSession(
            self._source,
            self._topic,
            sender,
            resumed,
            pace=self._pace,
            metrics=self._metrics,
            watermark=self._watermark,
            tracing=self._tracing,
        )
        try:
            self._follow(session, partitions)
            while session.must_compare and self._going_on():
                log.debug("what brokers hold is compared with the log")
                self._learn(session)
                if not session.compare(self._tails()):
                    break
                self._follow(session, partitions)
        except EpochChanged:
            log.warning("an epoch has begun that this connector didn't begin")
        except HistoryChanged as changed:
            self._begin_epoch(sender, resumed.epoch + 1, changed)
        finally:
            self._learn(session)
            session.close()

    def _resume(self, sender: Sender) -> tails.Tails:
        positions = self._tails()
        publisher.fence(sender, self._topic, max(positions.epoch, positions.trace))
        positions = self._tails()
        lost = max(self._requested_epoch(), positions.trace)
        if is_later(lost, positions.epoch):
            self._replace_lost_epoch(sender, lost)
            positions = self._tails()
        while positions.behind:
            # A connector began this epoch and ended before the reset had reached all shards.
            last = LastEvent(*positions.lowest_event)
            publisher.reset(sender, self._topic, positions.epoch, last, positions.behind)
            positions = self._tails()
        log.info(
            "resumed",
            epoch=positions.epoch,
            event_id=positions.lowest,
            furthest=positions.furthest.event_id,
        )
        self._metrics.epoch.set(positions.epoch)
        self._status.epoch = positions.epoch
        self._on_epoch(positions.epoch)
        return positions

    def _learn(self, session: PublishSession) -> None:
        """Notes what a session has compared, and whether what it has sent since is in doubt."""
        history = session.history
        if history.has_compared:
            self._compared_to, self._is_doubtful = history.ends, False
        self._is_doubtful |= session.is_doubtful

    def _tails(self) -> tails.Tails:
        return tails.find(self._topic, self._compared_to if self._is_doubtful else None)

    def _follow(self, session: PublishSession, partitions: PartitionsWatch) -> None:
        rests = Pacing(self._pace.poll_interval_ms / 1000)
        status = self._status
        while self._going_on() and not session.must_compare:
            began = time.monotonic()
            if is_later(self._requested_epoch(), status.epoch):
                raise EpochChanged
            partitions.look()
            busy = session.step()
            if status.waits_for is not None:
                log.info("publishing", epoch=status.epoch, event_id=session.position)
            status.position, status.sequence = session.position, session.sequence
            status.turned_at = status.polled_at = time.monotonic()
            status.waits_for = None
            took_s = status.turned_at - began
            self._stopped.wait(rests.after(busy=busy, took_s=took_s))

    def _begin_epoch(self, sender: Sender, epoch: int, changed: HistoryChanged) -> None:
        log.error(
            "the log tells another history; a new epoch begins, and everything is answered by the "
            "database until it is read and loaded again",
            why=str(changed),
            epoch=epoch,
            event_id=changed.current,
            remedy="was the database restored, failed over, or is database.url another's? "
            "If it is the wrong one, stop the connectors and correct it",
        )
        self._reset(sender, epoch, changed.current)

    def _replace_lost_epoch(self, sender: Sender, lost: int) -> None:
        """Begins the epoch after one that workers know and the topic doesn't. Workers read records
        of theirs alone, or of a later one."""
        at = self._source.bounds(0).current
        log.error(
            "the topic has lost the beginning of an epoch; a new one begins, and everything is "
            "answered by the database until it is loaded again",
            lost=lost,
            epoch=lost + 1,
            remedy="keep all records of the topic: see docs/operate.md",
        )
        self._reset(sender, lost + 1, at)

    def _reset(self, sender: Sender, epoch: int, event: int) -> None:
        rows = [row for row in self._source.poll(event - 1, event).rows if row.event_id == event]
        last = LastEvent.of(event, [(row, len(row.message)) for row in rows])
        publisher.reset(sender, self._topic, epoch, last, range(self._topic.shards))

    def _complain(self, error: MachineError) -> None:
        is_source = isinstance(error, SourceError)
        self._metrics.failed(Fault.SOURCE if is_source else Fault.PUBLISH)
        self._status.waits_for, self._status.turned_at = str(error), time.monotonic()
        log.error("waiting", why=str(error))

    def _going_on(self) -> bool:
        return not self._stopped.is_set()
