"""How long metastores take, and so how long a read waits for a shard that lags, where a metastore
would answer otherwise."""

from typing import Final

WAIT_S_MIN: Final = 0.005
WAIT_S_MAX: Final = 0.1
_WEIGHT: Final = 1 / 16


class MetastoreLatency:
    """How long a metastore takes for a read, by the times of the last ones.

    A read waits for its shard as long, so that a wait in vain at most doubles the time until the
    answer. With a distant database metastores take long, and the shard nearly always catches up
    before them.
    """

    def __init__(self) -> None:
        self._mean_s: float | None = None

    @property
    def wait_s(self) -> float:
        """How long a read waits for its shard."""
        return WAIT_S_MIN if self._mean_s is None else max(WAIT_S_MIN, self._mean_s)

    def note(self, seconds: float) -> None:
        """Takes note of how long a metastore took for a read."""
        taken_s = min(seconds, WAIT_S_MAX)
        if self._mean_s is None:
            self._mean_s = taken_s
        else:
            self._mean_s += (taken_s - self._mean_s) * _WEIGHT
