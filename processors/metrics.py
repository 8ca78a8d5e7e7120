"""What a worker counts, for Prometheus."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300)
_RECORDS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)


class Metrics:
    """One worker's; each has a registry of its own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()

        def histogram(name: str, doc: str, buckets: tuple[float, ...] = _SECONDS) -> Histogram:
            return Histogram(name, doc, buckets=buckets, registry=self.registry)

        self.lag_s = histogram(
            "metatide_lag_seconds", "From a record's arrival in Kafka to its being readable."
        )
        self.fold_s = histogram("metatide_fold_seconds", "Folding and committing a live batch.")
        self.batch_records = histogram(
            "metatide_batch_records", "Live records in a commit.", _RECORDS
        )
        self.recovery_s = histogram(
            "metatide_recovery_seconds", "From a shard's opening to its being live."
        )
        self.faults = Counter(
            "metatide_shard_faults", "Times that a shard had to start over.", registry=self.registry
        )
        self.rebalances = Counter(
            "metatide_rebalances", "Times that the group shared out anew.", registry=self.registry
        )
        self.asks = Counter("metatide_asks", "Loads that were asked for.", registry=self.registry)
        self.lag_records = Gauge(
            "metatide_lag_records",
            "Records that a shard has yet to fold.",
            ["shard"],
            registry=self.registry,
        )
        self.image_made_s = Gauge(
            "metatide_image_made_seconds",
            "When the last image of a shard was made, as Unix time.",
            ["shard"],
            registry=self.registry,
        )
        self.disk_bytes = Gauge(
            "metatide_store_bytes", "What the stores take on disk.", registry=self.registry
        )

    def page(self) -> bytes:
        """As Prometheus reads it."""
        return generate_latest(self.registry)
