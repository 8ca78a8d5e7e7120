"""The Prometheus metrics of a connector."""

import time
from enum import StrEnum

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

_SECONDS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10)


class Fault(StrEnum):
    """The kinds of faults."""

    SOURCE = "source"
    """The database couldn't be read."""
    PUBLISH = "publish"
    """The brokers didn't take a record."""
    UNDECODABLE = "undecodable"
    """A row couldn't be decoded and was set aside."""
    GAP = "gap"
    """Events are missing from the log."""
    HISTORY = "history"
    """The log's history isn't the published one."""
    LISTENER = "listener"
    """The metastore's listener isn't transactional."""


class Metrics:
    """The metrics of one connector, in a registry of its own, so that several connectors can share
    a process."""

    def __init__(self) -> None:
        registry = self.registry = CollectorRegistry()
        self.events = Counter(
            "metatide_connect_events", "Events read from the log.", registry=registry
        )
        self.records = Counter(
            "metatide_connect_records", "Records written to the topic.", registry=registry
        )
        self.bytes = Counter("metatide_connect_bytes", "Bytes of these records.", registry=registry)
        self.position = Gauge(
            "metatide_connect_position",
            "The last event that was handed over to the broker.",
            registry=registry,
        )
        self.epoch = Gauge("metatide_connect_epoch", "The epoch it is of.", registry=registry)
        self.lag_events = Gauge(
            "metatide_connect_lag_events", "Events that wait in the log.", registry=registry
        )
        self.lag_ms = Gauge(
            "metatide_connect_lag_ms",
            "Time since all events were published; 0 when they are.",
            registry=registry,
        )
        self.publish_s = Histogram(
            "metatide_connect_publish_seconds",
            "From the last look that didn't find an event to the broker's acknowledgement: "
            "at least the time since its commit.",
            buckets=_SECONDS,
            registry=registry,
        )
        self.looked_s = Gauge(
            "metatide_connect_looked_seconds",
            "When it last read the log and published what was new, as Unix time.",
            registry=registry,
        )
        faults = Counter(
            "metatide_connect_faults", "What went wrong, by kind.", ["kind"], registry=registry
        )
        # All labels exist from the start, because Prometheus sees no increase in a new series.
        self._faults = {fault: faults.labels(fault) for fault in Fault}
        self._failed_s = Gauge(
            "metatide_connect_failed_seconds",
            "When something last went wrong, by kind, as Unix time.",
            ["kind"],
            registry=registry,
        )

    def failed(self, fault: Fault) -> None:
        self._faults[fault].inc()
        # A fault before the first scrape is no increase, but it has its time.
        self._failed_s.labels(fault).set(time.time())
