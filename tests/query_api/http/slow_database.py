"""A database that answers when it is let."""

import asyncio
import threading
import time
from collections.abc import Callable

from query_api.latest.log_end import LogEnd
from query_api.positions import Position
from tests.query_api.http.read_client import EmptyDatabase


class Slow(EmptyDatabase):
    """Tells the current event when it is let."""

    def __init__(self, log: LogEnd) -> None:
        super().__init__(log)
        self.may = threading.Event()
        self.asked_count = self.answered_count = 0
        self.may.set()

    async def after_now(self, reached: Position) -> LogEnd | None:
        self.asked_count += 1
        assert await asyncio.to_thread(self.may.wait, 60)
        self.answered_count += 1
        return self.log


def wait_for(what: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not what():
        assert time.monotonic() < deadline, "it did not come to be"
        time.sleep(0.01)
