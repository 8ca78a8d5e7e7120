"""How long a connector rests between two polls of the log."""

BUSY_S = 0.002
"""The rest while there is work: short, yet long enough for many events to share a poll."""


class Pacing:
    """Rests are short while polls bring events, then double up to the interval."""

    def __init__(self, interval_s: float) -> None:
        self._idle_s_max = max(BUSY_S, interval_s)
        self._idle_s = BUSY_S

    def after(self, *, busy: bool, took_s: float) -> float:
        """The rest after a poll that took `took_s`; `busy` says whether it brought events."""
        if busy:
            self._idle_s = BUSY_S
            return BUSY_S
        self._idle_s = min(2 * self._idle_s, self._idle_s_max)
        # A log without an index is slow to read, so the database rests as long as it has worked.
        return max(self._idle_s, took_s)
