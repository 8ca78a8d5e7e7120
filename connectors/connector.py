"""The process between the log and the topic. It remembers nothing that isn't in one of them."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import structlog
from confluent_kafka import KafkaException

from connectors import publisher, tails, topic_admin
from connectors.kafka_clients import KafkaTopic, reason
from connectors.metrics import Fault, Metrics
from connectors.pacing import Pacing
from connectors.sender import Stopped
from connectors.session import HistoryEnded, NewEpoch, PublishSession
from connectors.settings import Pace
from connectors.source import Source
from hive.errors import MachineError, PublishError, SourceError

log = structlog.get_logger()
_RETRY_S_FIRST = 0.1


@dataclass
class Status:
    """What a connector says of itself to others."""

    waits_for: str | None = "the first look at the log"
    """Why it can't publish; None when it can."""
    turned_at: float = field(default_factory=time.monotonic)
    """When it last came round."""


class Connector:
    """Publishes until it is told to stop, whatever fails meanwhile."""

    def __init__(
        self,
        source: Source,
        events: KafkaTopic,
        *,
        pace: Pace | None = None,
        metrics: Metrics | None = None,
        status: Status | None = None,
        on_epoch: Callable[[int], None] = lambda _: None,
    ) -> None:
        """`on_epoch` hears of the epoch of what is published from then on."""
        self._on_epoch = on_epoch
        self._source = source
        self._topic = events
        self._pace = pace or Pace()
        self._metrics = metrics or Metrics()
        self._status = status or Status()
        self._stopped = threading.Event()

    def stop(self) -> None:
        """Ends `run` soon; may be called from anywhere."""
        self._stopped.set()

    def run(self) -> None:
        """Raises only what no waiting will mend."""
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
        """From the tails to a fault; a new epoch is none."""
        topic_admin.create(self._topic)
        while self._going_on():
            found = self._resume()
            session = PublishSession(
                self._source, self._topic, found, self._pace, self._metrics, self._going_on
            )
            try:
                self._follow(session)
            except NewEpoch:
                log.warning("another connector began an epoch")
            except HistoryEnded as ended:
                self._begin_epoch(found.epoch + 1, ended)
            except Stopped:
                return
            finally:
                session.close()

    def _resume(self) -> tails.Tails:
        found = tails.find(self._topic)
        while found.behind:
            # Somebody began this epoch and ended before all shards had it.
            publisher.reset(self._topic, found.epoch, found.lowest, found.behind)
            found = tails.find(self._topic)
        log.info("resumed", epoch=found.epoch, event_id=found.lowest, furthest=found.known.event_id)
        self._metrics.epoch.set(found.epoch)
        self._on_epoch(found.epoch)
        return found

    def _follow(self, session: PublishSession) -> None:
        rests = Pacing(self._pace.poll_interval_ms / 1000)
        while self._going_on():
            began = time.monotonic()
            busy = session.step()
            self._status.waits_for, self._status.turned_at = None, time.monotonic()
            took_s = self._status.turned_at - began
            self._stopped.wait(rests.after(busy=busy, took_s=took_s))

    def _begin_epoch(self, epoch: int, ended: HistoryEnded) -> None:
        log.error(
            "the log tells another history; a new epoch begins, and everything is answered by the "
            "database until it is loaded again",
            why=str(ended),
            epoch=epoch,
            event_id=ended.current,
            remedy="was the database restored, failed over, or is database.url another's? "
            "If it is the wrong one, stop the connectors and correct it",
        )
        publisher.reset(self._topic, epoch, ended.current, range(self._topic.shards))

    def _complain(self, error: MachineError) -> None:
        is_source = isinstance(error, SourceError)
        self._metrics.failed(Fault.SOURCE if is_source else Fault.PUBLISH)
        self._status.waits_for, self._status.turned_at = str(error), time.monotonic()
        log.error("waiting", why=str(error))

    def _going_on(self) -> bool:
        return not self._stopped.is_set()
