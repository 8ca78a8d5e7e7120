"""Counts of answers by the time that each took, cheap enough for every answer."""

from bisect import bisect_left


class AnswerTimes:
    """A histogram. Only one thread counts, so that no lock is needed."""

    __slots__ = ("_bounds_s", "counts", "total_s")

    def __init__(self, bounds_s: tuple[float, ...]) -> None:
        self._bounds_s = bounds_s
        self.counts = [0] * (len(bounds_s) + 1)
        self.total_s = 0.0

    def add(self, seconds: float) -> None:
        self.counts[bisect_left(self._bounds_s, seconds)] += 1
        self.total_s += seconds

    def add_untimed(self) -> None:
        """Counts an answer that was too fast to be worth timing."""
        self.counts[0] += 1

    def buckets(self) -> list[tuple[str, float]]:
        """The buckets as Prometheus wants them: each includes the lower ones."""
        cumulative, sum_ = [], 0
        for bound, count in zip((*map(str, self._bounds_s), "+Inf"), self.counts, strict=True):
            sum_ += count
            cumulative.append((bound, float(sum_)))
        return cumulative
