"""A process that watches the health of the cache: workers."""

import asyncio
import time
from collections.abc import Callable
from typing import Final, Protocol

import structlog
from sqlalchemy.exc import SQLAlchemyError

from hive.errors import MetatideError, TopicError
from hive.reader.driver_errors import driver_reason
from metatide.health.heartbeats import HeardConnectors, HeartbeatReader
from metatide.health.report import Health, judge
from metatide.health.thresholds import Thresholds
from query_api.latest.missing_events import LogStart, Missing, MissingAge
from state.records.heartbeats import EVERY_S
from state.topic import Topic

FRESH_S: Final = 0.5
"""How long a measurement is kept for all who ask."""

log = structlog.get_logger(__name__)


class Log(Protocol):
    """The notification log in the metastore's database."""

    def oldest_after(self, event: int, /) -> LogStart: ...


class HealthWatch:
    """Listens to the connectors all the time, and reads the log when somebody asks.

    All who ask at the same time share a read, and nobody waits for it longer than they want to.
    """

    def __init__(
        self,
        topic: Callable[[], Topic | None],
        thresholds: Thresholds,
        applied: Callable[[], int | None],
        database: Log | None,
    ) -> None:
        """`topic` gives the events topic once it is there; `applied` the event up to which the
        cache is complete, None while that isn't known. Without a database it isn't measured what is
        missing."""
        self._topic = topic
        self._thresholds = thresholds
        self._applied = applied
        self._database = database
        self._connectors = HeardConnectors()
        self._listening_since = time.monotonic()
        self._age = MissingAge()
        self._missing: Missing | None = None
        self._unmeasured: str | None = None
        self._fresh_until = 0.0
        self._measuring: asyncio.Task[None] | None = None

    @property
    def unheard_s(self) -> float:
        """How long this process has listened."""
        return time.monotonic() - self._listening_since

    @property
    def health(self) -> Health:
        """The health by the last measurement."""
        return judge(
            self._connectors.connectors(),
            self._missing,
            self._thresholds,
            unheard_s=self.unheard_s,
            unmeasured=self._unmeasured,
        )

    async def measure(self, patience_s: float) -> Health:
        """The health as of now, or by the last measurement if the database takes longer."""
        if self._database is not None and time.monotonic() >= self._fresh_until:
            if self._measuring is None or self._measuring.done():
                self._measuring = asyncio.create_task(self._measure(self._database))
            done, _ = await asyncio.wait([self._measuring], timeout=patience_s)
            if not done:
                self._know(None, "the database doesn't say in time which event is the last")
        return self.health

    async def listen(self) -> None:
        """Listens to the connectors until it is cancelled."""
        while True:
            topic = self._topic()
            try:
                if topic is not None:
                    await self._listen(topic)
            except TopicError as error:
                log.debug("connectors can't be heard", why=str(error))
            await asyncio.sleep(EVERY_S)

    async def close(self) -> None:
        if self._measuring is not None:
            await asyncio.wait([self._measuring])

    async def _listen(self, topic: Topic) -> None:
        reader = await asyncio.to_thread(HeartbeatReader, topic)
        try:
            await asyncio.to_thread(reader.earlier, self._connectors)
            while True:
                await asyncio.sleep(EVERY_S)
                reader.new(self._connectors)
        finally:
            await asyncio.to_thread(reader.close)

    async def _measure(self, database: Log) -> None:
        applied = self._applied()
        if applied is None:
            self._know(None, None)
            return
        began_s = time.monotonic()
        try:
            start = await asyncio.to_thread(database.oldest_after, applied)
        except (SQLAlchemyError, MetatideError) as error:
            self._know(None, f"the database can't be read: {driver_reason(error)}")
            return
        self._know(self._age.of(applied, start, began_s), None)
        self._fresh_until = time.monotonic() + FRESH_S

    def _know(self, missing: Missing | None, unmeasured: str | None) -> None:
        self._missing, self._unmeasured = missing, unmeasured
