"""How long a connector rests between two polls of the log."""

from typing import Final

BUSY_S: Final = 0.002
"""The rest while there is work: short, yet long enough for many events to share a poll."""
SHARE_OF_QUIET: Final = 1 / 32
"""A rest's share of the time without events. A writer writes again soon, and reads what it has
written: so rests grow slowly, and an event waits for a small part of the time before it."""


class Pacing:
    """Rests are short while polls bring events, then grow with the quiet time to the interval."""

    def __init__(self, interval_s: float) -> None:
        self._rest_s_max = max(BUSY_S, interval_s)
        self._quiet_s = 0.0

    def after(self, *, busy: bool, took_s: float) -> float:
        """The rest after a poll that took `took_s`; `busy` says whether it brought events."""
        if busy:
            self._quiet_s = 0.0
            return BUSY_S
        rest_s = min(max(BUSY_S, self._quiet_s * SHARE_OF_QUIET), self._rest_s_max)
        self._quiet_s += rest_s
        # A log without an index is slow to read, so the database rests as long as it has worked.
        return max(rest_s, took_s)
