"""The metastore's latest events, from the log in its database."""

import time
from typing import Final

import msgspec

from hive.errors import InputError
from query_api.database.reads import ListEvents
from query_api.resolver.database import Database

PATH: Final = "/v1/events"
COUNT_MAX: Final = 500
COUNT: Final = 50
FRESH_S: Final = 1.0


class Event(msgspec.Struct, frozen=True):
    """A row of the metastore's notification log, without its message."""

    event: int
    time_s: int
    """Unix time, by the clock of the metastore that wrote it."""
    type: str
    catalog: str | None
    database: str | None
    table: str | None


class Events(msgspec.Struct, frozen=True):
    """The latest events, newest first."""

    events: list[Event]


class RecentEvents:
    """The last rows of the log, read once for all callers within a short time."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._cached: dict[int, tuple[Events, float]] = {}

    async def last(self, limit: str | None) -> Events:
        """The number of events that a request asks for."""
        text = str(COUNT) if limit is None else limit
        count = int(text) if text.isascii() and text.isdecimal() and len(text) < 5 else 0
        if not 0 < count <= COUNT_MAX:
            raise InputError(f"bad limit {text[:20]!r}: write a number from 1 to {COUNT_MAX}")
        cached = self._cached.get(count)
        if cached is not None and time.monotonic() < cached[1]:
            return cached[0]
        answer = await self._database.answer(ListEvents(count))
        assert isinstance(answer.value, list)
        events = Events(
            [
                Event(
                    row.event_id,
                    row.event_time,
                    row.event_type,
                    row.cat_name,
                    row.db_name,
                    row.tbl_name,
                )
                for row in answer.value
            ]
        )
        self._cached[count] = events, time.monotonic() + FRESH_S
        return events
