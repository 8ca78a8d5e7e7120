"""Metrics of the HTTP server."""

from collections import Counter as Counts
from collections.abc import Callable, Iterator
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge
from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from query_api.answer_times import AnswerTimes
from query_api.latest.recent_reads import RecentReads
from query_api.reasons import Reason, Source

_BOUNDS_S: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)


class AnswerFigures:
    """The figures of the answers to one kind of read, given by one source for one reason."""

    __slots__ = ("count", "times")

    def __init__(self, times: AnswerTimes) -> None:
        self.count = 0
        self.times = times

    def add(self, seconds: float) -> None:
        self.count += 1
        self.times.add(seconds)

    def add_untimed(self) -> None:
        self.count += 1
        self.times.add_untimed()


class Together(Collector):
    """Several collectors as one, for a page of all their metrics."""

    def __init__(self, *collectors: Collector) -> None:
        self._collectors = collectors

    def collect(self) -> Iterator[Metric]:
        for collector in self._collectors:
            yield from collector.collect()


class Metrics:
    """The metrics of one server, in their own registry."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._refused = Counter(
            "metatide_refused_requests",
            "Requests answered with an error, by status",
            ("status",),
            registry=self.registry,
        )
        self.in_flight = Gauge(
            "metatide_requests_in_flight", "Requests being answered", registry=self.registry
        )
        self.times = {source: AnswerTimes(_BOUNDS_S) for source in Source}
        self._figures: dict[tuple[Source, Reason, str], AnswerFigures] = {}
        self.registry.register(_Answers(self._figures, self.times))

    def watch(self, recent: RecentReads) -> None:
        """Exports the reads for answers of a bounded age."""
        self.registry.register(_RecentReads(recent))

    # Overridden in `tracing.py`.
    def answered(self, source: Source, reason: Reason, read: str, seconds: float) -> None:
        self._of(source, reason, read).add(seconds)

    def counter_of_cached(self, reason: Reason, read: str) -> Callable[[], None]:
        """Counts the cached answers to this kind of read that are served again."""
        return self._of(Source.CACHE, reason, read).add_untimed

    def refused(self, status: int) -> None:
        self._refused.labels(str(status)).inc()

    def counts(self) -> Counts[tuple[Source, Reason]]:
        """The number of answers by source and reason, over all reads."""
        answers: Counts[tuple[Source, Reason]] = Counts()
        for (source, reason, _), figures in self._figures.items():
            answers[source, reason] += figures.count
        return answers

    def _of(self, source: Source, reason: Reason, read: str) -> AnswerFigures:
        key = source, reason, read
        figures = self._figures.get(key)
        if figures is None:
            figures = self._figures[key] = AnswerFigures(self.times[source])
        return figures


class _Answers(Collector):
    def __init__(
        self,
        figures: dict[tuple[Source, Reason, str], AnswerFigures],
        times: dict[Source, AnswerTimes],
    ) -> None:
        self._figures = figures
        self._times = times

    def collect(self) -> Iterator[Metric]:
        answers = CounterMetricFamily(
            "metatide_answers",
            "Answers by source, reason and read (an operation id of docs/openapi.json)",
            labels=("source", "reason", "read"),
        )
        for key, figures in self._figures.items():
            answers.add_metric(key, figures.count)
        seconds = HistogramMetricFamily(
            "metatide_answer_seconds", "Time to answer", labels=("source",)
        )
        for source, times in self._times.items():
            seconds.add_metric((source,), times.buckets(), times.total_s)
        yield from (answers, seconds)


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
