"""One attempt for all who need its outcome."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class SharedAttempt(Generic[T]):
    """At most one attempt at a time. Its outcome counts for all who wait for it, and so does its
    failure: the next of them would fail as late once more, and the last after all others.
    """

    def __init__(self) -> None:
        self._running: asyncio.Future[T] | None = None

    async def outcome(self, attempt: Callable[[], Awaitable[T]]) -> T:
        """The outcome of the attempt under way, or of this one if there is none. An attempt whose
        caller was cancelled has none: the next caller makes one.
        """
        while self._running is not None:
            running = self._running
            await asyncio.wait((running,))
            if not running.cancelled():
                return running.result()
        running = self._running = asyncio.get_running_loop().create_future()
        try:
            running.set_result(await attempt())
        except Exception as error:
            running.set_exception(error)
        finally:
            self._running = None
            running.cancel()
        return running.result()
