"""The Prometheus metrics of loads."""

import time
from enum import StrEnum

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from state.records import ScopeKind

_SECONDS = (0.01, 0.05, 0.1, 0.5, 1, 5, 10, 60, 300)


class LoadFault(StrEnum):
    """The kinds of faults."""

    SOURCE = "source"
    """The database couldn't be read."""
    PUBLISH = "publish"
    """The brokers didn't take a record."""
    REFUSED = "refused"
    """A scope couldn't be loaded though others could, and was given up."""


class LoadMetrics:
    """The metrics of one loader."""

    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        registry = self.registry = registry or CollectorRegistry()
        self.loads = Counter(
            "metatide_loads",
            "Loads that ended, by what they read: table, write_ids, names, databases, "
            "objects in doubt.",
            ["kind"],
            registry=registry,
        )
        self.partitions = Counter(
            "metatide_loads_partitions", "Partitions that were read.", registry=registry
        )
        self.bytes = Counter(
            "metatide_loads_bytes", "Bytes of the records of loads.", registry=registry
        )
        self._faults = Counter(
            "metatide_loads_faults",
            "What went wrong, by kind: source, publish, refused.",
            ["kind"],
            registry=registry,
        )
        self._failed_s = Gauge(
            "metatide_loads_failed_seconds",
            "When something last went wrong, by kind, as Unix time.",
            ["kind"],
            registry=registry,
        )
        self.waiting = Gauge(
            "metatide_loads_waiting", "Loads that are still to begin.", registry=registry
        )
        self.requests = Counter(
            "metatide_load_requests_received",
            "Requests for loads that arrived, by what became of them: taken, answered, rests, "
            "unreadable, refused.",
            ["result"],
            registry=registry,
        )
        self.vain = Counter(
            "metatide_loads_vain",
            "Loads that ended before the event that they were asked for.",
            registry=registry,
        )
        self.batch_s = Histogram(
            "metatide_loads_batch_seconds",
            "From the first Begin of the loads of one snapshot to their last End.",
            buckets=_SECONDS,
            registry=registry,
        )
        # All labels exist from the start, because Prometheus sees no increase in a new series.
        for counter, values in (
            (self.loads, ScopeKind),
            (self._faults, LoadFault),
            (self.requests, ("taken", "answered", "rests", "unreadable", "refused")),
        ):
            for value in values:
                counter.labels(value)

    def failed(self, fault: LoadFault) -> None:
        self._faults.labels(fault).inc()
        self._failed_s.labels(fault).set(time.time())
