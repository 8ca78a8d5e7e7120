"""The Prometheus metrics of a worker."""

from collections import Counter as Counts
from collections.abc import Iterable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from hive.errors import UnreadableRecordError
from processors.worker.phases import Phase

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300)
_RECORDS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)


class ImageMetrics:
    """The age of images, of those that a worker makes or that `metatide serve` reads."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.every_s = Gauge(
            "metatide_image_every_seconds",
            "How often an image of each shard is to be made (images.every_s); 0 if none is.",
            registry=registry,
        )
        self.made_s = Gauge(
            "metatide_image_made_seconds",
            "When the last image of a shard was made, as Unix time; while none is known, when the "
            "shard came here.",
            ["shard"],
            registry=registry,
        )


class Metrics:
    """The metrics of one worker, in a registry of its own."""

    def __init__(self, group: str = "") -> None:
        """`group` is the worker's: each has all shards."""
        self.registry = CollectorRegistry()

        def histogram(name: str, doc: str, buckets: tuple[float, ...] = _SECONDS) -> Histogram:
            return Histogram(name, doc, buckets=buckets, registry=self.registry)

        def gauge(name: str, doc: str, *labels: str) -> Gauge:
            return Gauge(name, doc, labels, registry=self.registry)

        self.lag_s = histogram(
            "metatide_lag_seconds", "From a record's arrival in Kafka to its being readable."
        )
        self.fold_s = histogram("metatide_fold_seconds", "Folding and committing a live batch.")
        self.loop_lag_s = histogram(
            "metatide_loop_lag_seconds", "How late the event loop woke a timer, once a second."
        )
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
            "metatide_rebalances",
            "Times that the group shared out its shards again.",
            registry=self.registry,
        )
        self.load_requests = Counter(
            "metatide_load_requests", "Requests for loads that were sent.", registry=self.registry
        )
        self.load_requests_waiting = gauge(
            "metatide_load_requests_waiting", "Loads that were requested and haven't come."
        )
        self.load_requests_oldest_s = gauge(
            "metatide_load_requests_oldest_seconds",
            "The age of the oldest of them; 0 if there is none.",
        )
        self.lag_records = gauge(
            "metatide_lag_records", "Records that a shard has yet to fold.", "shard"
        )
        self.images = ImageMetrics(self.registry)
        shards = gauge(
            "metatide_shards", "Shards of this worker, by what they are doing.", "group", "phase"
        )
        self._shards = {phase: shards.labels(group, phase) for phase in Phase}
        self._unreadable = gauge(
            "metatide_unreadable_record",
            "1 for each record that can't be read and stops its shard.",
            "shard",
            "offset",
            "reason",
        )
        self.topic_shards = gauge(
            "metatide_topic_shards", "Shards that the topic has, whoever holds them.", "group"
        ).labels(group)
        self.over_limit = gauge(
            "metatide_over_limit", "1 while the worker has no room, and so folds nothing."
        )
        self.disk_bytes = gauge("metatide_store_bytes", "What the stores take on disk.")
        self.disk_free_bytes = gauge("metatide_disk_free_bytes", "What is free on their disk.")
        self.memory_bytes = gauge("metatide_memory_bytes", "What the process takes in memory.")
        self.store_memory_bytes = gauge(
            "metatide_store_memory_bytes",
            "What the stores take of that: cached blocks, indexes, write buffers.",
        )

    def forget(self, shard: int) -> None:
        """Drops the figures of a shard that has moved away: old ones would raise alerts."""
        for figure in (self.lag_records, self.images.made_s):
            figure.remove(shard)

    def are_in(self, phases: Iterable[Phase]) -> None:
        """Sets the phase of each shard."""
        counts = Counts(phases)
        for phase, shards in self._shards.items():
            shards.set(counts[phase])

    def stop_at(self, records: Iterable[UnreadableRecordError | None]) -> None:
        """Sets the records that stop shards."""
        self._unreadable.clear()
        for record in records:
            if record is not None:
                self._unreadable.labels(record.shard, record.offset, record.reason).set(1)
