"""The operations that show the state of a group and its latest events, for the page and others."""

from dataclasses import replace
from typing import Any, Final

from starlette.requests import Request

from query_api.backend import Backend
from query_api.http.operation import Operation, OperationRequest
from query_api.http.page import cached_tables, events, overview
from query_api.http.page.cached_tables import Asked, CachedTables, Held, HeldTables
from query_api.http.page.events import Event, Events, RecentEvents
from query_api.http.page.overview import Glance, Overview
from query_api.http.page.process_info import Answered, ProcessInfo, answered_by
from query_api.http.page.table_counts import TableCounts
from query_api.http.proof import FORWARDED
from query_api.http.service import Service


class Pages:
    """What the page of one server shows."""

    def __init__(self, backend: Backend, service: Service, around: ProcessInfo) -> None:
        def answered() -> list[Answered]:
            return [*answered_by("http", service.metrics.counts()), *around.answered()]

        whole = replace(around, answered=answered)
        self._glance = Glance(backend.views, backend.database, whole, service.forwarder)
        self._holdings = CachedTables(backend.views, service.forwarder)
        self._events = RecentEvents(backend.database)

    async def close(self) -> None:
        await self._glance.close()

    async def overview(self, request: OperationRequest[None]) -> Overview:
        if _is_forwarded(request.http):
            return await self._glance.of_this()
        return await self._glance.of_group()

    async def held(self, request: OperationRequest[Asked]) -> HeldTables:
        is_forwarded = _is_forwarded(request.http)
        return await self._holdings.of(request.body, is_forwarded=is_forwarded)

    async def events(self, request: OperationRequest[None]) -> Events:
        return await self._events.last(request.http.query_params.get("limit"))


def _is_forwarded(request: Request) -> bool:
    return FORWARDED.decode() in request.headers


_STATUS: Final = {"name": "worker-1", "ready": True, "shards": []}
_SHARD: Final = overview.ShardPart(0, "0:1234", False, TableCounts(96, {"doubt: renamed": 1}, 12))
_WORKER: Final = overview.WorkerPart(
    "", None, _STATUS, [Answered("http", "cache", "fresh", 812)], [_SHARD]
)

OPERATIONS: Final[tuple[Operation[Pages, Any, Any], ...]] = (
    Operation(
        "overview",
        "get",
        overview.PATH,
        "All workers of the group: shards, warm and cold tables, answers by reason",
        Pages.overview,
        Overview,
        Overview(16, "0:1234", 1234, [_WORKER]),
    ),
    Operation(
        "held",
        "post",
        cached_tables.PATH,
        "Whether tables are in the cache; they aren't read, so nothing is loaded",
        Pages.held,
        HeldTables,
        HeldTables([Held("hive.sales.orders", False, "cold", "never_loaded", "")]),
        body=Asked,
        body_example=Asked(["sales.orders"]),
    ),
    Operation(
        "events",
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
