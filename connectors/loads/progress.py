"""How much a loader has loaded."""

import threading
from collections.abc import Sequence

from connectors.loads.metrics import LoadMetrics
from state.records import Scope


class LoadProgress:
    """Counts what was loaded since the start."""

    def __init__(self, metrics: LoadMetrics) -> None:
        self.scopes = 0
        self.partitions = 0
        self.bytes = 0
        self._metrics = metrics
        self._lock = threading.Lock()

    def read(self, partitions: int) -> None:
        """Counts the partitions of a page."""
        with self._lock:
            self.partitions += partitions
            self._metrics.partitions.inc(partitions)

    def sent(self, size: int) -> None:
        """Counts the bytes of a record."""
        with self._lock:
            self.bytes += size
            self._metrics.bytes.inc(size)

    def ended(self, scopes: Sequence[Scope]) -> None:
        """Counts loads that ended."""
        with self._lock:
            self.scopes += len(scopes)
            for scope in scopes:
                self._metrics.loads.labels(scope.kind.value).inc()
