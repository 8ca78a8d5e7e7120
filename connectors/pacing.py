"""How long a connector rests between two looks at the log."""

BUSY_S = 0.002
"""While there is work: little, so that many events come in one look."""


class Pacing:
    """Short as long as looks find something, then longer and longer up to the interval."""

    def __init__(self, interval_s: float) -> None:
        self._idle_s_max = max(BUSY_S, interval_s)
        self._idle_s = BUSY_S

    def after(self, *, busy: bool, took_s: float) -> float:
        """The rest after a look that found something, or didn't, and took so long."""
        if busy:
            self._idle_s = BUSY_S
            return BUSY_S
        self._idle_s = min(2 * self._idle_s, self._idle_s_max)
        # A log without an index is slow to read: it gets as much rest as work.
        return max(self._idle_s, took_s)
