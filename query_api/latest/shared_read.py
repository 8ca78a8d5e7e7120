"""One read of the sequence for all requests that came before it began, like Raft's ReadIndex."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final

import structlog

from hive.errors import SourceError
from hive.reader.driver_errors import driver_reason
from query_api.latest.log_end import LogEnd, marks_of
from query_api.latest.log_history import LogHistory
from query_api.latest.sequence import Tail
from query_api.positions import Position

SHORT_CHARS_MAX: Final = 64 * 1024

log = structlog.get_logger(__name__)


class SharedRead:
    """Answers "what is current now?" for many callers at once.

    1. A request gets a read that began after it arrived.
    2. A read begins as soon as somebody waits and none is under way. All who wait then share it, so
       that the more callers there are, the fewer statements each of them costs.
    """

    def __init__(self, read: Callable[[int, int], Awaitable[Tail]], history: LogHistory) -> None:
        """`read` returns the log from one event on, with messages only after a second event."""
        self._read = read
        self._history = history
        self._waiting: list[tuple[Position, asyncio.Future[LogEnd | None]]] = []
        self._worker: asyncio.Task[None] | None = None
        self._is_failing = False
        self.reads = 0

    async def after_now(self, reached: Position) -> LogEnd | None:
        """The log from `reached` on, as of a moment after this call; None if it can't be read."""
        future: asyncio.Future[LogEnd | None] = asyncio.get_running_loop().create_future()
        self._waiting.append((reached, future))
        if self._worker is None or self._worker.done():
            self._worker = asyncio.create_task(self._work())
        return await future

    async def close(self) -> None:
        if self._worker is not None:
            self._worker.cancel()
            with suppress(asyncio.CancelledError):
                await self._worker

    async def _work(self) -> None:
        batch: list[tuple[Position, asyncio.Future[LogEnd | None]]] = []
        try:
            while self._waiting:
                batch, self._waiting = self._waiting, []
                log = await self._read_for([reached for reached, _ in batch])
                for _, future in batch:
                    if not future.done():
                        future.set_result(log)
        finally:
            for _, future in (*batch, *self._waiting):
                future.cancel()
            self._waiting = []

    async def _read_for(self, reached: list[Position]) -> LogEnd | None:
        try:
            return await self._read_log(reached)
        except Exception:
            # All others would wait without end.
            log.exception("a read of the current event id failed")
            return None

    async def _read_log(self, reached: list[Position]) -> LogEnd | None:
        self.reads += 1
        epoch = max(position.epoch for position in reached)
        applied = [position.event for position in reached if position.epoch == epoch]
        first = min(applied)
        start = self._history.unread_from(epoch, first)
        try:
            tail = await self._read(start, self._history.known_up_to(start))
            if start > first and self._history.has_lost(tail.current):
                # What is remembered may be of another history.
                start = first
                tail = await self._read(first, first - 1)
        except SourceError as error:
            self._is_failing = True
            log.warning("the current event id can't be read", error=driver_reason(error))
            return None
        if self._is_failing:
            self._is_failing = False
            log.info("the current event id is read again", event_id=tail.current)
        self._history.check_position(epoch, max(applied), tail.current)
        self._history.check_rows(epoch, tail.rows)
        remembered = range(first, start)
        if _is_short(tail):
            rows = self._history.note(epoch, tail.rows, remembered)
        else:
            rows = await asyncio.to_thread(self._history.note, epoch, tail.rows, remembered)
        marks = self._history.marks(remembered) | marks_of(tail.rows)
        return LogEnd(epoch, tail.current, rows, self._history.former_names, marks)


def _is_short(tail: Tail) -> bool:
    """Whether the rows can be decoded while nobody else is served."""
    return sum(len(row.message) for row in tail.rows) <= SHORT_CHARS_MAX
