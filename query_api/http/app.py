"""The ASGI applications."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import cache, partial
from http import HTTPStatus
from typing import Any

import msgspec
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import Receive, Scope, Send

from query_api.backend import Backend
from query_api.http.app_state import AppState
from query_api.http.cache_middleware import CacheMiddleware
from query_api.http.endpoints import ENDPOINTS, Endpoint
from query_api.http.health import Check, Health
from query_api.http.messages import problem
from query_api.http.metrics import Together
from query_api.http.openapi import DOCUMENT, text
from query_api.http.operation import OperationGroup
from query_api.http.page import ProcessInfo
from query_api.http.page.files import file_routes, send_file
from query_api.http.page.operations import OPERATIONS as PAGE_OPERATIONS
from query_api.http.page.operations import Pages
from query_api.http.path_middleware import PathMiddleware
from query_api.http.proof import PeerMiddleware
from query_api.http.routes import routes_of
from query_api.http.service import Service, Settings


def create_status_app(
    checks: Sequence[Check], page_at: Callable[[Request], str | None] = lambda _: None
) -> Starlette:
    """An application that only reports health; it is ready if all `checks` pass.

    `page_at` gives the address of a fuller page. Without it, the application's own page shows the
    `checks`.
    """

    def page(request: Request) -> Response:
        url = page_at(request)
        return send_file(request) if url is None else RedirectResponse(url)

    status = _status_routes(Health(checks))
    return Starlette(routes=[*status, Route("/", page), *file_routes()])


def create_app(
    backend: Backend,
    settings: Settings | None = None,
    checks: Sequence[Check] = (),
    more_metrics: Sequence[Collector] = (),
    more_routes: Sequence[BaseRoute] = (),
    more_operations: Sequence[OperationGroup[Any]] = (),
    process_info: ProcessInfo | None = None,
) -> Starlette:
    """The application of a worker, which answers from a backend.

    `more_metrics` are shown beside the server's own. `more_routes` replace its health routes.
    `more_operations` are served beside its own, and described in the OpenAPI document.
    `process_info` gives what the page at `/` shows of the process around the server.

    The caller closes the backend.
    """
    service = Service(backend, settings or Settings())
    process_info = process_info or ProcessInfo()
    pages = Pages(backend, service, process_info)
    peers = service.settings.peers
    collectors = Together(service.metrics.registry, peers.metrics.registry, *more_metrics)

    async def metrics(request: Request) -> Response:
        await process_info.measure()
        return metrics_page(request, collectors)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[AppState]:
        pages.start()
        try:
            yield {
                "response_cache": service.response_cache,
                "log_end_reads": backend.log_end_reads,
                "gate": service.gate,
                "in_flight": backend.in_flight,
                "recent": backend.recent,
            }
        finally:
            await pages.close()
            await service.close()

    return Starlette(
        exception_handlers={HTTPException: _problem},
        routes=[
            *_routes(service, pages, more_operations),
            Route("/metrics", metrics),
            *more_routes,
            *_status_routes(Health(checks)),
        ],
        middleware=[
            Middleware(PeerMiddleware, peers),
            Middleware(PathMiddleware),
            *_tracing(backend),
            Middleware(
                CacheMiddleware,
                service.response_cache,
                service.gate,
                backend.database.after_now,
                backend.recent,
                backend.database.history.former_names,
            ),
        ],
        lifespan=lifespan,
    )


def metrics_page(request: Request, collector: Collector) -> Response:
    """The metrics in Prometheus' text format, or in that of OpenMetrics, which has exemplars, if
    the request accepts it.
    """
    encode, media_type = choose_encoder(request.headers.get("accept", ""))
    return Response(encode(collector), media_type=media_type)


class _Answering:
    """An endpoint that isn't a function: Starlette's wrapper of functions costs more than the
    answer.
    """

    def __init__(self, endpoint: Endpoint, service: Service) -> None:
        self._endpoint = endpoint
        self._answer = service.answer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._answer(self._endpoint, scope, receive, send)


async def _problem(request: Request, error: Exception) -> Response:
    """The response to a request that Starlette or an operation has refused."""
    assert isinstance(error, HTTPException)
    status, detail = error.status_code, error.detail
    if status == 404 and detail == HTTPStatus.NOT_FOUND.phrase:
        detail = f"there is nothing at {request.url.path[:200]}"
    return Response(
        problem(status, detail),
        status,
        headers=error.headers,
        media_type="application/problem+json",
    )


async def _page(request: Request) -> Response:
    return send_file(request)


def _routes(
    service: Service, pages: Pages, more_operations: Sequence[OperationGroup[Any]]
) -> list[BaseRoute]:
    described = [operation for group in more_operations for operation in group.operations]
    document: Callable[[], str] = cache(partial(text, described))
    routes: list[BaseRoute] = [_route(endpoint, service) for endpoint in ENDPOINTS]
    routes += [Route("/", _page), *file_routes()]
    routes += routes_of(PAGE_OPERATIONS, pages, service.gate)
    routes += routes_of([DOCUMENT], document, service.gate)
    for group in more_operations:
        routes += routes_of(group.operations, group.owner, service.gate)
    return routes


def _route(endpoint: Endpoint, service: Service) -> Route:
    methods = ["GET", "POST"] if endpoint.has_body else ["GET"]
    return Route(endpoint.path, _Answering(endpoint, service), methods=methods)


def _tracing(backend: Backend) -> list[Middleware]:
    if backend.tracing is None:
        return []
    from query_api.http.tracing import TracingMiddleware

    return [Middleware(TracingMiddleware, backend.tracing)]


def _status_routes(health: Health) -> list[Route]:

    async def alive(_: Request) -> Response:
        return PlainTextResponse("ok\n")

    async def ready(_: Request) -> Response:
        report = await health.report()
        body = msgspec.json.encode(report)
        return Response(body, 200 if report.ready else 503, media_type="application/json")

    return [Route("/healthz", alive), Route("/readyz", ready)]
