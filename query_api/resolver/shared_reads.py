"""Reads the current event for cached answers: one task for all requests that arrive together."""

from collections.abc import Callable

import structlog

from query_api.background_tasks import Background
from query_api.latest.log_end import LogEnd
from query_api.positions import Position
from query_api.resolver.database import Database

log = structlog.get_logger(__name__)

Taker = Callable[[LogEnd | None], None]


class LogEndReads:
    """Asks the database once for many requests; each gets a read that began after it arrived."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._waiting: list[tuple[Position, Taker]] = []
        self._background = Background()

    def ask(self, reached: Position, taker: Taker) -> None:
        """Asks for the log from `reached` on; `taker` gets it, or None if it can't be read."""
        self._waiting.append((reached, taker))
        if len(self._waiting) == 1:
            self._background.start(self._read())

    async def close(self) -> None:
        await self._background.close()

    async def _read(self) -> None:
        batch, self._waiting = self._waiting, []
        log_end = await self._database.after_now(min(reached for reached, _ in batch))
        for _, taker in batch:
            try:
                taker(log_end)
            except Exception:
                log.exception("a request failed")
