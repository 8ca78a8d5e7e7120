"""Routes that show the state of a group and its latest events, for the page and for others."""

from dataclasses import replace

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from query_api.http.forward import FORWARDED
from query_api.http.messages import Headers
from query_api.http.page import cached_tables, events, overview
from query_api.http.page.cached_tables import CachedTables
from query_api.http.page.events import Events, RecentEvents
from query_api.http.page.files import file_routes, send_file
from query_api.http.page.overview import Glance
from query_api.http.page.process_info import Answered, ProcessInfo, answered_by
from query_api.http.routes import body_of, read_route
from query_api.http.service import Service
from query_api.resolver.database import Database
from query_api.shards import Views


class Pages:
    """All routes of the page of one server."""

    def __init__(
        self, views: Views, database: Database, service: Service, around: ProcessInfo
    ) -> None:
        def answered() -> list[Answered]:
            return [*answered_by("http", service.metrics.counts()), *around.answered()]

        whole = replace(around, answered=answered)
        self._glance = Glance(views, database, whole, service.forwarder)
        self._holdings = CachedTables(views, service.forwarder)
        self._events = RecentEvents(database)
        self._tokens = service.settings.tokens

    async def close(self) -> None:
        await self._glance.close()

    @property
    def routes(self) -> list[BaseRoute]:
        """The routes: files are open to everybody, the rest to readers."""

        async def index(request: Request) -> Response:
            return send_file(request)

        return [
            Route("/", index),
            *file_routes(),
            read_route(overview.PATH, "GET", self._tokens, self._overview),
            read_route(cached_tables.PATH, "POST", self._tokens, self._held),
            read_route(events.PATH, "GET", self._tokens, self._recent),
        ]

    async def _overview(self, request: Request) -> overview.Overview:
        if _is_forwarded(request):
            return await self._glance.of_this()
        return await self._glance.of_group(_who(request))

    async def _held(self, request: Request) -> cached_tables.HeldTables:
        question = await body_of(request, cached_tables.Asked)
        return await self._holdings.of(question, _who(request), is_forwarded=_is_forwarded(request))

    async def _recent(self, request: Request) -> Events:
        return await self._events.last(request.query_params.get("limit"))


def _is_forwarded(request: Request) -> bool:
    return FORWARDED.decode() in request.headers


def _who(request: Request) -> Headers:
    authorization = request.headers.get("authorization")
    return [] if authorization is None else [(b"authorization", authorization.encode("latin-1"))]
