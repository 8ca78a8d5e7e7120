"""Metrics of the HTTP server."""

from collections import Counter as Counts
from collections.abc import Iterator
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily
from prometheus_client.registry import Collector

from query_api.latest.recent_reads import RecentReads
from query_api.reasons import Reason, Source

_BUCKETS: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10)


class Metrics:
    """The metrics of one server, in their own registry."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._answers = Counter(
            "metatide_answers",
            "Answers by source, reason and read",
            ("source", "reason", "read"),
            registry=self.registry,
        )
        self._refused = Counter(
            "metatide_refused_requests",
            "Requests answered with an error, by status",
            ("status",),
            registry=self.registry,
        )
        self._seconds = Histogram(
            "metatide_answer_seconds",
            "Time to answer",
            ("source",),
            buckets=_BUCKETS,
            registry=self.registry,
        )
        self.in_flight = Gauge(
            "metatide_requests_in_flight", "Requests being answered", registry=self.registry
        )
        # Finding a child by its labels costs more than counting.
        self._counters: dict[tuple[Source, Reason, str], Counter] = {}
        self._timers = {source: self._seconds.labels(source) for source in Source}

    def watch(self, recent: RecentReads) -> None:
        """Exports the reads for answers of a bounded age."""
        self.registry.register(_RecentReads(recent))

    def answered(self, source: Source, reason: Reason, read: str, seconds: float) -> None:
        key = source, reason, read
        counter = self._counters.get(key)
        if counter is None:
            counter = self._counters[key] = self._answers.labels(*key)
        counter.inc()
        self._timers[source].observe(seconds)

    def served_kept(self, reason: Reason, read: str) -> None:
        """Counts an answer from the cache that was too fast to be worth timing."""
        self.answered(Source.CACHE, reason, read, 0.0)

    def refused(self, status: int) -> None:
        self._refused.labels(str(status)).inc()

    def counts(self) -> Counts[tuple[Source, Reason]]:
        """The number of answers by source and reason, over all reads."""
        answers: Counts[tuple[Source, Reason]] = Counts()
        for metric in self._answers.collect():
            for sample in metric.samples:
                if sample.name.endswith("_total"):
                    grounds = Source(sample.labels["source"]), Reason(sample.labels["reason"])
                    answers[grounds] += int(sample.value)
        return answers

    def page(self) -> bytes:
        """The metrics in Prometheus' text format."""
        return generate_latest(self.registry)


class _RecentReads(Collector):
    def __init__(self, recent: RecentReads) -> None:
        self._recent = recent

    def collect(self) -> Iterator[CounterMetricFamily]:
        family = CounterMetricFamily(
            "metatide_recent_reads",
            "Reads of the current event in the background, for `within`, by result",
            labels=("result",),
        )
        failures = self._recent.failures
        family.add_metric(("read",), self._recent.reads - failures)
        family.add_metric(("failed",), failures)
        yield family
