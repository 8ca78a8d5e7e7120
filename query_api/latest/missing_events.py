"""What the database has and the cache hasn't: how much, and for how long."""

import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from hive.reader import notification_log

_KEPT: Final = 256


class LogStart(NamedTuple):
    """The beginning of the log after an event."""

    current: int
    """The last event of the database."""
    oldest: int | None
    """The oldest event after it of which the log has the row."""
    written_s: int | None
    """When that was written, as Unix time by the metastore's clock."""


def log_start(rows: Sequence[Any]) -> LogStart:
    """The beginning of the log from the rows of a statement `oldest_after`."""
    [following] = [row[0] for row in rows if row[1] is None]
    oldest = next((row for row in rows if row[1] is not None), (None, None, None))
    return LogStart(notification_log.last_event(following), oldest[1], oldest[2])


class Missing(msgspec.Struct, frozen=True):
    """The events that the database has and the cache hasn't."""

    current: int
    """The last event of the database."""
    events: int
    age_s: float
    """How long ago the oldest of them was committed."""


class _Times(NamedTuple):
    """When an event was seen to be the last one of the database, by this process's clock."""

    first_s: float
    """The end of the first read that showed it."""
    last_s: float
    """The begin of the last such read."""


class MissingAge:
    """Tells the age of the oldest missing event from reads of the log.

    An event says when it was written, by the clock of its metastore, which may be wrong. The reads
    themselves give bounds by the clock of this process: an event is older than the first read that
    showed it, and younger than the last that didn't.
    """

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._clock = clock
        self._wall = wall
        self._times: OrderedDict[int, _Times] = OrderedDict()

    def of(self, applied: int, start: LogStart, began_s: float) -> Missing:
        """What is missing after `applied`, by a read that began at `began_s` and has just ended."""
        self._note(start.current, began_s)
        if start.current <= applied:
            return Missing(start.current, 0, 0.0)
        return Missing(start.current, start.current - applied, self._age_s(applied + 1, start))

    def _note(self, current: int, began_s: float) -> None:
        if self._times and current < next(reversed(self._times)):
            # The database was restored: its events are others.
            self._times.clear()
        first_s = self._times[current].first_s if current in self._times else self._clock()
        self._times[current] = _Times(first_s, began_s)
        if len(self._times) > _KEPT:
            self._times.popitem(last=False)

    def _age_s(self, event: int, start: LogStart) -> float:
        now = self._clock()
        shown = [times.first_s for current, times in self._times.items() if current >= event]
        unshown = [times.last_s for current, times in self._times.items() if current < event]
        least = now - min(shown)
        most = now - max(unshown) if unshown else float("inf")
        written = least if start.written_s is None else self._wall() - start.written_s
        return min(max(written, least), most)
