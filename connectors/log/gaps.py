"""Notices gaps in the log: events whose rows are missing."""

import time
from collections.abc import Callable
from typing import Final, NamedTuple

from connectors.log.source import Bounds

CLEANED: Final = "the metastore's cleaner removed them before they were read"
OUT_OF_ORDER: Final = "rows around them are there; ids are not given in the order of commits"


class LogGap(NamedTuple):
    """A range of events, first to last, whose rows are missing from the log."""

    first: int
    last: int
    why: str


class GapWatch:
    """Tells gaps from rows that are late, which become visible a moment after later ones."""

    def __init__(self, patience_ms: int, now: Callable[[], float] = time.monotonic) -> None:
        self._patience_s = patience_ms / 1000
        self._now = now
        self._since: float | None = None

    def look(self, bounds: Bounds, position: int) -> LogGap | None:
        """The gap right after the position; None while its rows may still become visible."""
        now = self._now()
        if self._since is None:
            self._since = now
        return gap_after(position, bounds, waited=now - self._since >= self._patience_s)

    def passed(self) -> None:
        """Takes note that the position has moved on."""
        self._since = None


def gap_after(position: int, bounds: Bounds, *, waited: bool) -> LogGap | None:
    """The events missing right after the position, once their rows have been waited for."""
    last = bounds.current if bounds.next is None else bounds.next - 1
    if last <= position:
        return None
    if bounds.oldest is None or bounds.oldest > position:
        return LogGap(position + 1, last, CLEANED)
    return LogGap(position + 1, last, OUT_OF_ORDER) if waited else None
