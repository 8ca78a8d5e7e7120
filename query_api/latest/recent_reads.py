"""Reads of the sequence that began a short time ago, for answers of a bounded age."""

from collections.abc import Awaitable, Callable, Iterable
from typing import Final

from query_api.background_tasks import Background
from query_api.elapsed import elapsed_s
from query_api.latest.log_end import ROWS_MAX, LogEnd
from query_api.latest.log_history import LogHistory
from query_api.positions import Position

KEPT: Final = 2
"""The number of reads that are kept. A shard that lags behind the last one, because that has just
shown something new, has mostly reached the one before."""


class RecentReads:
    """The last reads of the log, renewed while somebody asks for them.

    1. A read's age is counted from before it began.
    2. When the last read is half as old as it may be, the next one begins in the background. So all
       requests together cost a statement for every half of the age, and wait for none.
    """

    def __init__(
        self,
        after_now: Callable[[Position], Awaitable[LogEnd | None]],
        history: LogHistory,
        positions: Callable[[], Iterable[Position]],
    ) -> None:
        """`positions` gives those of the shards here."""
        self._after_now = after_now
        self._history = history
        self._positions = positions
        self._logs: tuple[tuple[float, LogEnd], ...] = ()
        self._background = Background()
        self._is_reading = False
        self.reads = self.failures = 0

    def within(self, max_age_ms: int, began_after_s: float = 0.0) -> list[LogEnd]:
        """The logs of reads that began at most this long ago, and after some time, the newest
        first."""
        age_s, now_s = max_age_ms / 1000, elapsed_s()
        if not self._is_reading and (not self._logs or now_s - self._logs[0][0] >= age_s / 2):
            self._is_reading = True
            self._background.start(self._read())
        earliest_s = max(now_s - age_s, began_after_s)
        return [log for began_s, log in self._logs if began_s >= earliest_s]

    async def close(self) -> None:
        await self._background.close()

    async def _read(self) -> None:
        try:
            ends = ends_of(self._positions())
            if ends is None:
                return
            lowest, highest = ends
            self.reads += 1
            began_s = elapsed_s()
            log = await self._after_now(lowest)
            if log is None:
                self.failures += 1
            else:
                self._history.check_position(highest.epoch, highest.event, log.current)
                self._logs = ((began_s, log), *self._logs[: KEPT - 1])
        finally:
            self._is_reading = False


def ends_of(positions: Iterable[Position]) -> tuple[Position, Position] | None:
    """The lowest position, from which on a read for all shards shows what happened; the highest, by
    which it notices a change of the database's history. Shards of an earlier epoch, or so far
    behind that no read shows all that they lack, don't count. None if there are no shards.
    """
    ordered = sorted(positions)
    if not ordered:
        return None
    highest = ordered[-1]
    near = highest._replace(event=highest.event - ROWS_MAX)
    return next(position for position in ordered if position >= near), highest
