"""The HTTP application of a worker."""

from typing import Any

import msgspec
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

from metatide.config import Config
from metatide.worker.operations import THRIFT, WORKER
from metatide.worker.operators import Operators
from metatide.worker.shards import WorkerShards, known_tokens
from metatide.worker.thrift import Endpoint
from processors.status import worker_status
from processors.worker import Worker
from query_api.database import Primary
from query_api.http import Settings, create_app
from query_api.http.access import Tokens
from query_api.http.operation import OperationGroup
from query_api.http.page import ProcessInfo, answered_by
from query_api.http.routes import routes_of


def worker_application(
    config: Config,
    worker: Worker,
    shards: WorkerShards,
    primary: Primary | None,
    settings: Settings | None,
    endpoint: Endpoint | None,
    operating: Operators | None,
) -> Starlette:
    """The application; it answers reads if there is a database for what the cache can't answer."""
    if primary is None:
        return status_application(worker, known_tokens(config))
    pages = [worker.metrics.page, primary.fallback.metrics.page]
    groups: list[OperationGroup[Any]] = [OperationGroup(WORKER, worker)]
    if endpoint is not None:
        pages.append(endpoint.server.metrics_page)
        groups.append(OperationGroup(THRIFT, endpoint))
    if operating is not None:
        pages.append(operating.metrics_page)
        groups += operating.operations
    around = ProcessInfo(
        lambda: worker_status(worker),
        lambda: [] if endpoint is None else answered_by("thrift", endpoint.server.counts()),
    )
    return create_app(
        shards,
        primary,
        settings,
        more_metrics=lambda: b"".join(page() for page in pages),
        more_routes=_health_routes(worker),
        more_operations=groups,
        around=around,
    )


def status_application(worker: Worker, tokens: Tokens) -> Starlette:
    """The application of a worker that answers no reads."""

    async def metrics(_: Request) -> Response:
        return Response(worker.metrics.page(), media_type=CONTENT_TYPE_LATEST)

    own = [*_health_routes(worker), Route("/metrics", metrics)]
    return Starlette(routes=[*own, *routes_of(WORKER, worker, tokens)])


def _health_routes(worker: Worker) -> list[BaseRoute]:

    async def alive(_: Request) -> Response:
        return PlainTextResponse("ok\n")

    async def ready(_: Request) -> Response:
        status = worker_status(worker)
        body, code = msgspec.json.encode(status), 200 if status.ready else 503
        return Response(body, code, media_type="application/json")

    return [Route("/healthz", alive), Route("/readyz", ready)]
