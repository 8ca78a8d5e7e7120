"""The database's answer to a read, requested while the cache may still catch up."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Generic, TypeVar

from query_api.background_tasks import take_note

A = TypeVar("A")


class HedgedRead(Generic[A]):
    """A database read that begins when the same read waits for the cache."""

    def __init__(self, ask: Callable[[], Coroutine[Any, Any, A]]) -> None:
        self._ask = ask
        self._task: asyncio.Task[A] | None = None

    async def race(self, cache: Awaitable[Any]) -> None:
        """Waits until the cache is ready or the database has answered; a failure is no answer."""
        self._task = asyncio.create_task(self._ask())
        waits = asyncio.ensure_future(cache)
        for each in (self._task, waits):
            each.add_done_callback(take_note)
        try:
            await asyncio.wait((self._task, waits), return_when=asyncio.FIRST_COMPLETED)
            if waits.done() or self._failed:
                await waits
        finally:
            waits.cancel()

    async def answer(self) -> A:
        """The database's answer; it is requested now if it wasn't before."""
        task, self._task = self._task, None
        return await (self._ask() if task is None else task)

    def cancel(self) -> None:
        """Drops the database's answer, which nobody needs any more."""
        if self._task is not None and not self._failed:
            self._task.cancel()

    @property
    def _failed(self) -> bool:
        task = self._task
        if task is None or not task.done() or task.cancelled():
            return False
        return task.exception() is not None
