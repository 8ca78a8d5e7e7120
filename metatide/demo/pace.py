"""How fast a run goes and when it ends."""

import threading
import time

from metatide.demo.options import Limits

SLEEP_S_MAX = 0.05


class Pace:
    """Holds writers to a rate, and ends them at a limit or at a word."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._ended = threading.Event()
        self._begin: float | None = None
        self._done_before = 0

    @property
    def ended(self) -> bool:
        """Whether nothing more is to be written."""
        return self._ended.is_set()

    def end(self) -> None:
        """Nothing more is to be written."""
        self._ended.set()

    def begin(self, events: int) -> None:
        """Time and events count from now on."""
        self._begin = time.monotonic()
        self._done_before = events

    def go_on(self, events: int) -> bool:
        """Wait until more events may be written; whether they may at all."""
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
