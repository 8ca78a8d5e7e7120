"""An overview of all workers of a group."""

import asyncio
import time
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from hive.errors import UNDECODABLE
from query_api.http.forward import Forwarder, WholeAnswer
from query_api.http.page.history import PATH as HISTORY_PATH
from query_api.http.page.history import History
from query_api.http.page.process_info import AnswerCount, LatencyHistogram, ProcessInfo, ThriftPart
from query_api.http.page.table_counts import Counting, TableCounts
from query_api.positions import Position
from query_api.resolver.database import Database
from query_api.resolver.missed_tables import MissedTable, MissedTables
from query_api.shards import Views

PATH: Final = "/v1/overview"
FRESH_S: Final = 0.5
"""How long an overview is kept for all callers."""
PATIENCE_S: Final = 3.0
WORKERS_MAX: Final = 256
MISSED_MAX: Final = 10


class ShardPart(msgspec.Struct, frozen=True):
    """A shard as its owner reports it."""

    shard: int
    position: str
    paused: bool
    tables: TableCounts | None
    """None while they can't be counted."""


class WorkerPart(msgspec.Struct, frozen=True):
    """A worker of the group: its shards, and what it has answered."""

    url: str
    """Empty for the worker that answers."""
    fault: str | None
    status: Any
    """What its `/v1/status` returns; null if it answers from images."""
    answered: list[AnswerCount]
    shards: list[ShardPart]
    times: list[LatencyHistogram] = []
    """How long its answers took."""
    missed: list[MissedTable] = []
    """The tables that it most often didn't answer for from the cache."""
    thrift: ThriftPart | None = None


class Overview(msgspec.Struct, frozen=True):
    """The workers of a group, and what each of them holds and has answered."""

    shard_count: int
    position: str
    """The highest position of the shards here."""
    event: int | None
    """The last event of the metastore's database; null while it can't be read."""
    workers: list[WorkerPart]


_decode: Final = msgspec.json.Decoder(Overview).decode
_decode_history: Final = msgspec.json.Decoder(History).decode


class GroupOverview:
    """Merges the reports of all workers, once for all callers within a short time."""

    def __init__(
        self,
        views: Views,
        database: Database,
        process_info: ProcessInfo,
        forwarder: Forwarder,
        missed: MissedTables,
    ) -> None:
        self._missed = missed
        self._views = views
        self._database = database
        self._process_info = process_info
        self._forwarder = forwarder
        self._counting = Counting(views)
        self._lock = asyncio.Lock()
        self._cached: Overview | None = None
        self._until_s = 0.0

    async def close(self) -> None:
        await self._counting.close()

    async def of_group(self) -> Overview:
        """The overview of the whole group."""
        async with self._lock:
            if self._cached is None or time.monotonic() >= self._until_s:
                workers, event = await asyncio.gather(
                    asyncio.gather(self._own_part(), *map(self._ask, self._others())),
                    self._current_event(),
                )
                self._cached = self._overview(event, workers)
                self._until_s = time.monotonic() + FRESH_S
            return self._cached

    async def of_this(self) -> Overview:
        """This worker's part, for the overview of another worker."""
        return self._overview(None, [await self._own_part()])

    def _overview(self, event: int | None, workers: Sequence[WorkerPart]) -> Overview:
        return Overview(self._views.source.count, str(self._views.reached), event, list(workers))

    async def _current_event(self) -> int | None:
        log_end = await self._database.after_now(self._views.reached)
        return None if log_end is None else log_end.current

    async def _own_part(self) -> WorkerPart:
        source = self._views.source
        here = [number for number in range(source.count) if source.shard(number) is not None]
        parts, _ = await asyncio.gather(
            asyncio.gather(*map(self._shard_part, here)), self._process_info.measure()
        )
        answered = self._process_info.answered()
        shards = [part for part in parts if part is not None]
        thrift = self._process_info.thrift()
        times = [*self._process_info.times(), *([] if thrift is None else thrift.times)]
        missed = self._missed.most(MISSED_MAX)
        status = self._process_info.status()
        return WorkerPart("", None, status, answered, shards, times, missed, thrift)

    async def _shard_part(self, number: int) -> ShardPart | None:
        tables = await self._counting.counts(number)
        reader = self._views.reader(number)
        if reader is None:
            return None
        head = reader.head
        return ShardPart(number, str(Position(head.epoch, head.applied)), head.paused, tables)

    async def histories(self) -> list[History]:
        """The histories of the other workers."""
        found = await asyncio.gather(*(self._history_of(url) for url in self._others()))
        return [history for history in found if history is not None]

    async def _history_of(self, url: str) -> History | None:
        answer = await self._answer(url, HISTORY_PATH)
        if answer is None or answer.status != 200:
            return None
        try:
            return _decode_history(answer.content)
        except UNDECODABLE:
            return None

    def _others(self) -> list[str]:
        source = self._views.source
        urls = {source.owner_url(number) for number in range(source.count)} - {None}
        return sorted(url for url in urls if url is not None)[:WORKERS_MAX]

    async def _answer(self, url: str, path: str) -> WholeAnswer | None:
        try:
            async with asyncio.timeout(PATIENCE_S):
                return await self._forwarder.ask(url, path)
        except TimeoutError:
            return None

    async def _ask(self, url: str) -> WorkerPart:
        if not self._forwarder.may_ask(url):
            return WorkerPart(url, "isn't asked, for want of the workers' secret", None, [], [])
        answer = await self._answer(url, PATH)
        if answer is None or answer.status != 200:
            said = "doesn't answer" if answer is None else f"answers {answer.status}"
            return WorkerPart(url, said, None, [], [])
        try:
            [part] = _decode(answer.content).workers
        # It may tell of no worker, or of several.
        except (*UNDECODABLE, ValueError):
            return WorkerPart(url, "its answer can't be read", None, [], [])
        return msgspec.structs.replace(part, url=url)
