"""One read of the sequence for all requests that came before it began, like Raft's ReadIndex."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from time import perf_counter, sleep
from typing import Final

import structlog
from sqlalchemy.exc import SQLAlchemyError

from hive.errors import SourceError
from query_api.latest.latest_log import LatestLog
from query_api.latest.log_history import LogHistory
from query_api.latest.sequence import Tail
from query_api.positions import Position

INTERVAL_S_MIN: Final = 0.001
"""The shortest interval between reads; callers in between share the next one."""
INTERVAL_S_MAX: Final = 0.004
"""The longest interval. Below it, the interval is twice a read's duration, so that the database
rests half of the time; a read that takes longer is followed by the next at once."""

log = structlog.get_logger(__name__)


class SharedRead:
    """Answers "what is current now?" for many callers at once.

    1. A request gets a read that began after it arrived.
    2. All waiting requests share one read.
    3. Reads run one at a time and not more often than the interval, which is twice the duration of
       the last read, within two bounds.
    """

    def __init__(self, read: Callable[[int, int], Tail], history: LogHistory) -> None:
        """`read` blocks. It returns the log from one event on, with messages only after a second
        event.
        """
        self._read = read
        self._history = history
        self._waiting: list[tuple[Position, asyncio.Future[LatestLog | None]]] = []
        self._worker: asyncio.Task[None] | None = None
        self._thread = ThreadPoolExecutor(1, "latest")
        self.reads = 0

    async def after_now(self, reached: Position) -> LatestLog | None:
        """The log from `reached` on, as of a moment after this call; None if it can't be read."""
        future: asyncio.Future[LatestLog | None] = asyncio.get_running_loop().create_future()
        self._waiting.append((reached, future))
        if self._worker is None or self._worker.done():
            self._worker = asyncio.create_task(self._work())
        return await future

    async def close(self) -> None:
        if self._worker is not None:
            self._worker.cancel()
            with suppress(asyncio.CancelledError):
                await self._worker
        self._thread.shutdown(wait=True)

    async def _work(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            while self._waiting:
                began = perf_counter()
                batch, self._waiting = self._waiting, []
                log = await self._read_for([reached for reached, _ in batch])
                interval = 2 * (perf_counter() - began)
                interval = min(max(interval, INTERVAL_S_MIN), INTERVAL_S_MAX)
                for _, future in batch:
                    if not future.done():
                        future.set_result(log)
                rest_s = began + interval - perf_counter()
                if rest_s > 0:
                    # The timers of the event loop are only exact to the millisecond.
                    await loop.run_in_executor(self._thread, sleep, rest_s)
        finally:
            for _, future in self._waiting:
                future.cancel()
            self._waiting = []

    async def _read_for(self, reached: list[Position]) -> LatestLog | None:
        self.reads += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(
                self._thread, self._read_now, reached
            )
        except (SQLAlchemyError, SourceError) as error:
            log.warning("the current event id can't be read", error=str(error).splitlines()[0])
            return None

    def _read_now(self, reached: list[Position]) -> LatestLog:
        epoch = max(position.epoch for position in reached)
        applied = [position.event for position in reached if position.epoch == epoch]
        first = min(applied)
        tail = self._read(first, self._history.known_up_to(first))
        self._history.check_position(epoch, max(applied), tail.current)
        rows = self._history.note(epoch, tail.rows)
        return LatestLog(epoch, tail.current, rows, self._history.former_names)
