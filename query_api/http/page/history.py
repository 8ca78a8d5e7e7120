"""An hour of the figures that the page draws, so that its charts aren't empty when it is opened."""

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from typing import Final, NamedTuple

import msgspec

PATH: Final = "/v1/history"
EVERY_S: Final = 10.0
KEPT: Final = 360
"""The number of moments that are kept: an hour."""


class Counted(NamedTuple):
    """What is known at a moment."""

    hits: int
    """Answers from the cache since the worker began."""
    misses: int
    missing_age_s: float | None


class Moment(msgspec.Struct, frozen=True):
    """The reads a second before a moment, and how late the cache was then."""

    ago_s: float
    hits_per_s: float
    misses_per_s: float
    missing_age_s: float | None
    """The age of the oldest event that the cache lacked; null if that wasn't known."""


class History(msgspec.Struct, frozen=True):
    """The last hour in steps of `every_s` seconds, the oldest first."""

    every_s: float
    moments: list[Moment]


class Recorder:
    """Takes note of a worker's figures while it runs."""

    def __init__(self, count: Callable[[], Awaitable[Counted]]) -> None:
        self._count = count
        self._moments: deque[tuple[float, Moment]] = deque(maxlen=KEPT)

    async def run(self) -> None:
        """Runs until it is cancelled."""
        before, began_s = await self._count(), time.monotonic()
        while True:
            await asyncio.sleep(EVERY_S)
            counted, now_s = await self._count(), time.monotonic()
            passed_s = now_s - began_s
            moment = Moment(
                0.0,
                (counted.hits - before.hits) / passed_s,
                (counted.misses - before.misses) / passed_s,
                counted.missing_age_s,
            )
            self._moments.append((now_s, moment))
            before, began_s = counted, now_s

    def history(self) -> History:
        """The moments of this worker."""
        now_s = time.monotonic()
        moments = [
            msgspec.structs.replace(moment, ago_s=round(now_s - at_s, 3))
            for at_s, moment in self._moments
        ]
        return History(EVERY_S, moments)


def together(histories: Iterable[History]) -> History:
    """The history of several workers: the sums of their reads, and the greatest age."""
    slots: dict[int, Moment] = {}
    for history in histories:
        for moment in history.moments:
            slot = int(moment.ago_s // EVERY_S)
            other = slots.get(slot)
            slots[slot] = moment if other is None else _sum(other, moment)
    return History(EVERY_S, [slots[slot] for slot in sorted(slots, reverse=True)])


def _sum(left: Moment, right: Moment) -> Moment:
    ages = [each for each in (left.missing_age_s, right.missing_age_s) if each is not None]
    return Moment(
        max(left.ago_s, right.ago_s),
        left.hits_per_s + right.hits_per_s,
        left.misses_per_s + right.misses_per_s,
        max(ages, default=None),
    )
