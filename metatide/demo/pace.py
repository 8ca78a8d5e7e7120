"""The rate of a run, and its end."""

import threading
import time

from metatide.demo.options import Limits

SLEEP_S_MAX = 0.05


class Pace:
    """Limits the rate of the writers, and ends them at a limit or on request."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._ended = threading.Event()
        self._begin: float | None = None
        self._done_before = 0

    @property
    def ended(self) -> bool:
        """Whether the run has ended."""
        return self._ended.is_set()

    def end(self) -> None:
        """Ends the run."""
        self._ended.set()

    def begin(self, events: int) -> None:
        """Starts the clock and the count of events."""
        self._begin = time.monotonic()
        self._done_before = events

    def go_on(self, events: int) -> bool:
        """Waits until more events may be written; returns whether the run goes on."""
        assert self._begin is not None
        done = events - self._done_before
        limits = self._limits
        while not self.ended:
            elapsed_s = time.monotonic() - self._begin
            if (limits.events is not None and done >= limits.events) or (
                limits.seconds is not None and elapsed_s >= limits.seconds
            ):
                self.end()
            elif limits.events_per_s is None or done <= elapsed_s * limits.events_per_s:
                return True
            else:
                ahead_s = done / limits.events_per_s - elapsed_s
                self._ended.wait(min(ahead_s, SLEEP_S_MAX))
        return False
