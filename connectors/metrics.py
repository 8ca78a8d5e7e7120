"""What a connector counts and measures, in Prometheus' words."""

from enum import StrEnum

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

_SECONDS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10)


class Fault(StrEnum):
    """What can go wrong."""

    SOURCE = "source"
    """The database couldn't be read."""
    PUBLISH = "publish"
    """The brokers didn't take a record."""
    UNDECODABLE = "undecodable"
    """A row couldn't be read, and was set aside."""
    HOLE = "hole"
    """Events are missing in the log."""
    HISTORY = "history"
    """The log tells another history."""
    LISTENER = "listener"
    """The listener doesn't write events as it must."""


class Metrics:
    """One registry for each connector, so that several may live in one process."""

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
        # All from the beginning: an increase from nothing is none to Prometheus.
        self._faults = {fault: faults.labels(fault) for fault in Fault}

    def failed(self, fault: Fault) -> None:
        self._faults[fault].inc()
