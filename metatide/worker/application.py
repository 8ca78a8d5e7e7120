"""The HTTP application of a worker."""

from starlette.applications import Starlette
from starlette.routing import BaseRoute

from metatide.config import Config
from metatide.worker.images import images_route
from metatide.worker.operations import THRIFT, WORKER
from metatide.worker.operators import Operators
from metatide.worker.shards import WorkerShards, known_tokens
from metatide.worker.thrift import Endpoint
from processors.status import worker_status
from processors.web import metrics_route, routes
from processors.worker import Worker
from query_api.admin_operations import AUDITS, ORDERS
from query_api.database import Primary
from query_api.http import Check, Settings, create_app
from query_api.http.page import ProcessInfo, answered_by


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
    own = [*routes(worker), images_route(worker, known_tokens(config))]
    if primary is None:
        return Starlette(routes=[*own, metrics_route(worker)])
    pages = [worker.metrics.page, primary.fallback.metrics.page]
    more: list[BaseRoute] = [*own]
    operations = [*WORKER]
    if endpoint is not None:
        pages.append(endpoint.server.metrics_page)
        more += endpoint.routes
        operations += THRIFT
    if operating is not None:
        pages.append(operating.metrics_page)
        more += operating.routes
        operations += (*ORDERS, *AUDITS)
    follows = Check("shards", lambda: None if worker.ready else "some don't follow the topic yet")
    around = ProcessInfo(
        lambda: worker_status(worker),
        lambda: [] if endpoint is None else answered_by("thrift", endpoint.server.counts()),
    )
    return create_app(
        shards,
        primary,
        settings,
        checks=[follows],
        more_metrics=lambda: b"".join(page() for page in pages),
        more_routes=more,
        more_operations=operations,
        around=around,
    )
