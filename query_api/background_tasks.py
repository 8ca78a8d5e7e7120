"""Tasks that run in the background and end with their owner."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

import structlog

T = TypeVar("T")

log = structlog.get_logger(__name__)


def take_note(future: asyncio.Future[Any]) -> None:
    """Looks at the outcome of a future whose waiters may all have left: asyncio complains of an
    exception that nobody has looked at."""
    if not future.cancelled():
        future.exception()


async def outcome(future: asyncio.Future[T]) -> T:
    """The outcome of a future that goes on if this waiter is cancelled. From Python 3.14 on,
    asyncio.shield would log what the future raises after that.
    """
    await asyncio.wait([future])
    return future.result()


class Background:
    """The background tasks of one owner. It holds references to them, because the event loop
    doesn't.
    """

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        return len(self._tasks)

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("a background task failed", exc_info=error)

    async def close(self) -> None:
        """Cancels the tasks that still run."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
