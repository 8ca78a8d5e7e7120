"""What a worker reports of itself and of the cache as a whole."""

from typing import Final

import msgspec
from prometheus_client.registry import Collector

from metatide.config import Config
from metatide.health import Health, HealthWatch
from metatide.health.metrics import HealthMetrics
from metatide.health.thresholds import thresholds
from metatide.process.metrics import VERSION, process_metrics
from processors.worker.status import WorkerStatus, worker_status
from processors.worker.worker import Worker
from query_api.database import Primary
from query_api.http.metrics import Together

PATIENCE_S: Final = 2.0
"""How long an answer waits for the database."""
PROBE_PATIENCE_S: Final = 0.3
"""A probe must be answered even while the database is frozen."""


class MemberStatus(WorkerStatus, frozen=True):
    """A worker and its shards, and the health of the cache as the worker sees it."""

    version: str = ""
    """The version of Metatide that it runs."""
    health: Health | None = None
    """Null if the worker doesn't watch it."""


class Reporter:
    """Gathers the status and the metrics of a worker."""

    def __init__(self, worker: Worker, watch: HealthWatch | None = None) -> None:
        self.worker = worker
        self._watch = watch
        collectors: list[Collector] = [worker.metrics.registry, process_metrics()]
        if watch is not None:
            collectors.append(HealthMetrics(lambda: watch.health, lambda: watch.unheard_s))
        self.metrics = Together(*collectors)

    async def measure(self, patience_s: float = PATIENCE_S) -> None:
        """Brings the status up to date."""
        if self._watch is not None:
            await self._watch.measure(patience_s)

    @property
    def missing_age_s(self) -> float | None:
        """The age of the oldest event that the cache lacks, by the last measurement."""
        return None if self._watch is None else self._watch.health.missing_age_s

    @property
    def status(self) -> MemberStatus:
        """The status by the last measurement."""
        status = msgspec.structs.asdict(worker_status(self.worker))
        health = None if self._watch is None else self._watch.health
        return MemberStatus(**status, version=VERSION, health=health)


def health_watch(config: Config, worker: Worker, primary: Primary | None) -> HealthWatch:
    """The watch of a worker, which measures what is missing if it has a database."""
    return HealthWatch(lambda: worker.topic, thresholds(config), lambda: _applied(worker), primary)


def _applied(worker: Worker) -> int | None:
    """The event up to which the live shards are complete; None if none is live."""
    positions = [shard.position for shard in worker.shards.values() if shard.live]
    epoch = max((position.epoch for position in positions), default=0)
    # Events of an earlier epoch aren't compared with those of the database.
    return min((each.applied for each in positions if each.epoch == epoch), default=None)
