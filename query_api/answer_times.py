"""Counts of answers by the time that each took, cheap enough for every answer."""

from bisect import bisect_left
from time import time

from prometheus_client.samples import Exemplar


class AnswerTimes:
    """A histogram. Only one thread counts, so that no lock is needed."""

    __slots__ = ("_exemplars", "bounds_s", "counts", "total_s")

    def __init__(self, bounds_s: tuple[float, ...]) -> None:
        self.bounds_s = bounds_s
        self.counts = [0] * (len(bounds_s) + 1)
        self.total_s = 0.0
        self._exemplars: dict[int, Exemplar] = {}

    def add(self, seconds: float) -> None:
        self.counts[bisect_left(self.bounds_s, seconds)] += 1
        self.total_s += seconds

    def add_untimed(self) -> None:
        """Counts an answer that was too fast to be worth timing."""
        self.counts[0] += 1

    def note(self, seconds: float, trace_id: str) -> None:
        """Notes the trace of an answer that was counted: the last one of its bucket is shown."""
        exemplar = Exemplar({"trace_id": trace_id}, seconds, time())
        self._exemplars[bisect_left(self.bounds_s, seconds)] = exemplar

    def buckets(self) -> list[tuple[str, float] | tuple[str, float, Exemplar]]:
        """The buckets as Prometheus wants them: each includes the lower ones."""
        cumulative: list[tuple[str, float] | tuple[str, float, Exemplar]] = []
        sum_ = 0
        bounds = (*map(str, self.bounds_s), "+Inf")
        for number, (bound, count) in enumerate(zip(bounds, self.counts, strict=True)):
            sum_ += count
            exemplar, bucket = self._exemplars.get(number), (bound, float(sum_))
            cumulative.append(bucket if exemplar is None else (*bucket, exemplar))
        return cumulative
