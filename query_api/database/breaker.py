"""A circuit breaker: a failing database isn't asked for a while."""

from collections.abc import Callable
from time import monotonic
from typing import Final

FAILURES_MAX: Final = 3
PAUSE_S_MIN: Final = 0.5
PAUSE_S_MAX: Final = 30.0


class Breaker:
    """Opens after several failures in a row, and lets one attempt through after a pause.

    A success closes it, a failure makes the pause twice as long.
    """

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._failures = 0
        self._pause_s = PAUSE_S_MIN
        self._open_until = 0.0

    def retry_after_s(self) -> float:
        """How long to wait until the next attempt. 0 permits one now, whose outcome the caller must
        report.
        """
        if self._failures < FAILURES_MAX:
            return 0.0
        now = self._clock()
        if now < self._open_until:
            return self._open_until - now
        # Only this caller may try now; the others wait until its attempt must have ended.
        self._open_until = now + self._pause_s
        return 0.0

    def succeeded(self) -> None:
        self._failures = 0
        self._pause_s = PAUSE_S_MIN

    def failed(self) -> None:
        self._failures += 1
        if self._failures > FAILURES_MAX:
            self._pause_s = min(2 * self._pause_s, PAUSE_S_MAX)
        self._open_until = self._clock() + self._pause_s
