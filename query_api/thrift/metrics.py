"""Metrics of the Thrift server, by method."""

from collections import Counter as Counts
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from query_api.answer_times import AnswerTimes
from query_api.reasons import Reason, Source
from query_api.thrift.call import Why

BOUNDS_S: Final = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.25, 1.0, 5.0)
METHODS_MAX: Final = 400
"""The number of methods that are counted separately; the interface has fewer."""
OTHERS: Final = "others"
METASTORE: Final = "metastore"
"""The source of answers that come from neither the cache nor the database."""


class MethodFigures:
    """The figures of one method. Only one thread counts, so that no lock is needed."""

    def __init__(self) -> None:
        self.answers: Counts[tuple[Source, Reason]] = Counts()
        self.relayed: Counts[Why] = Counts()
        self.shadowed: Counts[str] = Counts()
        self._times = {who: AnswerTimes(BOUNDS_S) for who in (*Source, METASTORE)}

    def answered(self, source: Source, reason: Reason, seconds: float) -> None:
        self.answers[source, reason] += 1
        self._times[source].add(seconds)

    def answered_by_metastore(self, why: Why, seconds: float) -> None:
        self.relayed[why] += 1
        self._times[METASTORE].add(seconds)

    def note(self, source: str, seconds: float, trace_id: str) -> None:
        """Notes the trace of an answer that was counted."""
        self._times[source].note(seconds, trace_id)

    def times(self) -> Iterator[tuple[str, AnswerTimes]]:
        return ((who, times) for who, times in self._times.items() if times.total_s)


class Metrics(Collector):
    """The figures of one server."""

    def __init__(
        self,
        connections: Callable[[], int],
        expressions: Mapping[str, int] | None = None,
        upstream_connections: Callable[[], Mapping[str, int]] = dict,
    ) -> None:
        """`upstream_connections` gives the number of connections to metastores by kind."""
        self._connections = connections
        self._upstream_connections = upstream_connections
        self._expressions = {} if expressions is None else expressions
        self._methods: dict[str, MethodFigures] = {}
        self.refused: Counts[str] = Counts()
        self.logins: Counts[str] = Counts()
        """How many clients have proved who they are, by how they did."""

    def of(self, method: str) -> MethodFigures:
        """The figures of a method. Clients can send any name, so beyond a limit all others share
        one entry.
        """
        figures = self._methods.get(method)
        if figures is None:
            if len(self._methods) >= METHODS_MAX and method != OTHERS:
                return self.of(OTHERS)
            figures = self._methods[method] = MethodFigures()
        return figures

    def counts(self) -> Counts[tuple[Source, Reason]]:
        """The number of answers by source and reason, over all methods."""
        answers: Counts[tuple[Source, Reason]] = Counts()
        for figures in self._methods.values():
            answers.update(figures.answers)
        return answers

    @property
    def connections(self) -> int:
        return self._connections()

    def methods(self) -> Iterator[tuple[str, MethodFigures]]:
        """The figures by method."""
        return iter(self._methods.items())

    def collect(self) -> Iterator[Metric]:
        yield from self._by_method()
        yield GaugeMetricFamily(
            "metatide_thrift_connections", "Connections of clients", self._connections()
        )
        upstream = GaugeMetricFamily(
            "metatide_thrift_upstream_connections",
            "Connections to metastores, by for whom they are",
            labels=("kind",),
        )
        yield _filled(upstream, self._upstream_connections())
        refused = CounterMetricFamily(
            "metatide_thrift_refused", "Connections that were ended, by reason", labels=("reason",)
        )
        yield _filled(refused, self.refused)
        logins = CounterMetricFamily(
            "metatide_thrift_logins",
            "Clients that have proved who they are, by mechanism",
            labels=("mechanism",),
        )
        yield _filled(logins, self.logins)
        expressions = CounterMetricFamily(
            "metatide_thrift_expressions",
            "Serialized expressions, by outcome",
            labels=("outcome",),
        )
        yield _filled(expressions, self._expressions)

    def _by_method(self) -> Iterator[Metric]:
        hits = CounterMetricFamily(
            "metatide_thrift_answers",
            "Calls answered here, by source and reason",
            labels=("method", "source", "reason"),
        )
        relayed = CounterMetricFamily(
            "metatide_thrift_relayed",
            "Calls relayed to a metastore, by reason",
            labels=("method", "reason"),
        )
        shadowed = CounterMetricFamily(
            "metatide_thrift_shadowed",
            "Calls in shadow mode, by the outcome of the comparison",
            labels=("method", "outcome"),
        )
        seconds = HistogramMetricFamily(
            "metatide_thrift_seconds",
            "Time to answer a call, by source",
            labels=("method", "source"),
        )
        for method, figures in sorted(self._methods.items()):
            for (source, reason), count in figures.answers.items():
                hits.add_metric((method, source, reason), count)
            for why, count in figures.relayed.items():
                relayed.add_metric((method, why), count)
            for outcome, count in figures.shadowed.items():
                shadowed.add_metric((method, outcome), count)
            for who, times in figures.times():
                seconds.add_metric((method, who), times.buckets(), times.total_s)
        yield from (hits, relayed, shadowed, seconds)


def _filled(family: CounterMetricFamily | GaugeMetricFamily, counts: Mapping[str, int]) -> Metric:
    """The metric with these counts by its only label."""
    for label, count in counts.items():
        family.add_metric((label,), count)
    return family
