"""How long a read waits for a shard that lags, by how long whoever answers otherwise takes."""

from time import monotonic
from typing import Final

WAIT_S_MIN: Final = 0.005
WAIT_S_MAX: Final = 0.1
REMEMBERED_S: Final = 10.0
"""A time that was taken longer ago tells nothing: a database that was busy then may not be now, and
is asked so seldom that nobody would notice."""
_WEIGHT: Final = 1 / 16


class FallbackLatency:
    """How long the database, or a metastore, takes for a read, by the times of the last ones.

    A read waits for its shard as long, so that a wait in vain at most doubles the time until the
    answer. Where the database is distant or busy, the shard nearly always catches up first. A
    shorter wait would keep a busy machine busy: once shards lag because of the load, reads would go
    to the database, which costs more than they did.
    """

    def __init__(self) -> None:
        self._mean_s = 0.0
        self._counts_until_s = monotonic()

    @property
    def wait_s(self) -> float:
        """How long a read waits for its shard."""
        return max(WAIT_S_MIN, self._mean_s) if self._counts else WAIT_S_MIN

    def note(self, seconds: float) -> None:
        """Takes note of how long a read took."""
        taken_s = min(seconds, WAIT_S_MAX)
        self._mean_s += (taken_s - self._mean_s) * (_WEIGHT if self._counts else 1)
        self._counts_until_s = monotonic() + REMEMBERED_S

    @property
    def _counts(self) -> bool:
        return monotonic() < self._counts_until_s
