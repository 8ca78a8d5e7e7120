"""The parts that all shards of a worker share."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from processors.applier import Applier
from processors.directory import WorkerDirectory
from processors.replay.bulk_replay import Bulk
from processors.worker.limits import Limits
from processors.worker.load_requests import LoadRequests
from processors.worker.metrics import Metrics
from processors.worker.seek import Seek
from state.image import Images
from state.store import MemoryBudget, Store
from state.topic import Topic

if TYPE_CHECKING:
    from state.tracing import Tracing


@dataclass(frozen=True)
class WorkerParts:
    """What the shards of a worker work with."""

    topic: Topic
    directory: WorkerDirectory
    budget: MemoryBudget
    bulk: Bulk
    limits: Limits
    load_requests: LoadRequests
    metrics: Metrics
    follow: Seek
    images: Images | None = None
    tracing: "Tracing | None" = None

    def applier(self, store: Store, shard: int) -> Applier:
        """The writer of a live shard."""
        if self.tracing is None:
            return Applier(store)
        from processors.worker.traced_applier import TracedApplier

        return TracedApplier(store, self.tracing, self.topic.name, shard)
