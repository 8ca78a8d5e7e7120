"""The operations that show the state of a group and its latest events, for the page and others."""

from dataclasses import replace
from typing import Any, Final

from starlette.requests import Request

from query_api.backend import Backend
from query_api.background_tasks import Background
from query_api.http.operation import Operation, OperationRequest
from query_api.http.page import cached_tables, events, history, overview
from query_api.http.page.cached_tables import CachedTables, TableCacheState, TableCacheStates
from query_api.http.page.events import Event, Events, RecentEvents
from query_api.http.page.history import Counted, History, Moment, Recorder, together
from query_api.http.page.overview import GroupOverview, Overview
from query_api.http.page.process_info import (
    AnswerCount,
    LatencyHistogram,
    MethodCalls,
    ProcessInfo,
    ThriftPart,
    answered_by,
    times_of,
)
from query_api.http.page.table_counts import TableCounts
from query_api.http.proof import FORWARDED
from query_api.http.service import Service
from query_api.http.table_names import TableNames
from query_api.reasons import Source
from query_api.resolver.missed_tables import MissedTable


class Pages:
    """What the page of one server shows."""

    def __init__(self, backend: Backend, service: Service, process_info: ProcessInfo) -> None:
        def answered() -> list[AnswerCount]:
            return [*answered_by("http", service.metrics.counts()), *process_info.answered()]

        def times() -> list[LatencyHistogram]:
            return times_of("http", service.metrics.times)

        self._overview = GroupOverview(
            backend.views,
            backend.database,
            replace(process_info, answered=answered, times=times),
            service.forwarder,
            backend.resolver.missed,
        )
        self._cached_tables = CachedTables(backend.views, service.forwarder)
        self._events = RecentEvents(backend.database)

        self._process_info = replace(process_info, answered=answered)
        self._recorder = Recorder(self._counted)
        self._background = Background()

    def start(self) -> None:
        """Begins to take note of what the page draws."""
        self._background.start(self._recorder.run())

    async def close(self) -> None:
        await self._background.close()
        await self._overview.close()

    async def history(self, request: OperationRequest[None]) -> History:
        own = self._recorder.history()
        if _is_forwarded(request.http):
            return own
        return together([own, *await self._overview.histories()])

    async def _counted(self) -> Counted:
        await self._process_info.measure()
        hits = misses = 0
        for each in self._process_info.answered():
            if each.source == Source.CACHE:
                hits += each.count
            else:
                misses += each.count
        return Counted(hits, misses, self._process_info.missing_age_s())

    async def overview(self, request: OperationRequest[None]) -> Overview:
        if _is_forwarded(request.http):
            return await self._overview.of_this()
        return await self._overview.of_group()

    async def cache_states(self, request: OperationRequest[TableNames]) -> TableCacheStates:
        is_forwarded = _is_forwarded(request.http)
        return await self._cached_tables.states(request.body, is_forwarded=is_forwarded)

    async def events(self, request: OperationRequest[None]) -> Events:
        return await self._events.last(request.http.query_params.get("limit"))


def _is_forwarded(request: Request) -> bool:
    return FORWARDED.decode() in request.headers


_STATUS: Final = {"name": "worker-1", "ready": True, "shards": []}
_SHARD: Final = overview.ShardPart(0, "0:1234", False, TableCounts(96, {"doubt: renamed": 1}, 12))
_WORKER: Final = overview.WorkerPart(
    "",
    None,
    _STATUS,
    [AnswerCount("http", "cache", "fresh", 812)],
    [_SHARD],
    [LatencyHistogram("http", "cache", (0.001, 0.01), [800, 12, 0])],
    [MissedTable("hive.sales.orders", 7, {"cold": 7})],
    ThriftPart(3, [MethodCalls("get_table_req", 90, 0, 2, 0)], []),
)

OPERATIONS: Final[tuple[Operation[Pages, Any, Any], ...]] = (
    Operation(
        "getOverview",
        "get",
        overview.PATH,
        "All workers of the group: shards, warm and cold tables, answers by reason",
        Pages.overview,
        Overview,
        Overview(16, "0:1234", 1234, [_WORKER]),
    ),
    Operation(
        "getHistory",
        "get",
        history.PATH,
        "The reads of all workers in the last hour, and how late the cache was",
        Pages.history,
        History,
        History(history.EVERY_S, [Moment(4.2, 812.0, 3.5, 0.0)]),
    ),
    Operation(
        "getCacheStates",
        "post",
        cached_tables.PATH,
        "Whether tables are in the cache; they aren't read, so nothing is loaded",
        Pages.cache_states,
        TableCacheStates,
        TableCacheStates([TableCacheState("hive.sales.orders", False, "cold", "never_loaded", "")]),
        body=TableNames,
        body_example=TableNames(["sales.orders"]),
    ),
    Operation(
        "listEvents",
        "get",
        events.PATH,
        "The latest events of the metastore, newest first, without their messages",
        Pages.events,
        Events,
        Events([Event(1234, 1767225600, "ALTER_TABLE", "hive", "sales", "orders")]),
        query=(("limit", f"How many at most, up to {events.COUNT_MAX}.", 50),),
        fails=("503",),
    ),
)
