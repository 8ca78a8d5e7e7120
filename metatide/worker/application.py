"""The HTTP application of a worker, and all that it needs."""

import asyncio
from contextlib import AsyncExitStack
from typing import Any

import msgspec
from prometheus_client.registry import Collector
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

from hive.errors import InputError
from metatide.config import Config
from metatide.worker.epoch_watch import EpochWatch
from metatide.worker.operations import THRIFT, WORKER
from metatide.worker.operators import Operators
from metatide.worker.read_settings import (
    open_primary,
    own_names,
    peers_of,
    read_settings,
    tokens_of,
)
from metatide.worker.reporter import PROBE_PATIENCE_S, Reporter, health_watch
from metatide.worker.shards import WorkerShards
from metatide.worker.thrift import WorkerThriftServer
from metatide.worker.thrift_part import thrift_part
from processors.worker.worker import Worker
from query_api.backend import Backend
from query_api.background_tasks import Background
from query_api.database import Primary
from query_api.http import Settings, create_app
from query_api.http.app import metrics_page
from query_api.http.gate import Gate
from query_api.http.operation import OperationGroup
from query_api.http.page import ProcessInfo, answered_by
from query_api.http.proof import PeerMiddleware
from query_api.http.routes import routes_of
from query_api.in_flight import BYTES_MAX, Budget
from query_api.peers import Peers


async def worker_application(
    config: Config, worker: Worker, scheme: str, parts: AsyncExitStack
) -> Starlette:
    """The application. It answers reads only if there is a database for what the cache can't
    answer.

    `scheme` is that of the workers' addresses. Everything started here, including the Thrift
    server, is added to `parts`, which the caller closes after the application has ended.
    """
    primary = open_primary(config)
    if primary is not None:
        parts.push_async_callback(primary.close)
    elif config.thrift.port is not None:
        raise InputError("the Thrift server needs the metastore's database: give --database URL")
    watch = health_watch(config, worker, primary)
    parts.push_async_callback(watch.close)
    background = Background()
    background.start(watch.listen())
    parts.push_async_callback(background.close)
    reporter = Reporter(worker, watch)
    peers = peers_of(config, worker.settings.address)
    if primary is None:
        gate = Gate(tokens_of(config), own_names(config))
        return status_application(reporter, gate, peers)
    settings = await asyncio.to_thread(read_settings, config, primary, peers)
    epochs = EpochWatch(lambda: worker.topic, lambda: _live_epochs(worker))
    background.start(epochs.run())
    shards = WorkerShards(worker, scheme, epochs)
    # The budget must hold at least one call of the maximum size.
    in_flight = Budget(max(BYTES_MAX, config.thrift.message_bytes_max))
    backend = Backend(shards, primary, in_flight, worker.tracing)
    parts.push_async_callback(backend.close)
    thrift = None
    if config.thrift.port is not None:
        thrift = WorkerThriftServer(config, shards, primary, backend, settings)
        parts.push_async_callback(thrift.close)
        await thrift.start()
    operators = Operators(config, worker, primary, backend.views)
    parts.push_async_callback(operators.close)
    operators.start()
    return _read_application(reporter, primary, backend, settings, thrift, operators)


def _live_epochs(worker: Worker) -> list[int]:
    """The epochs of the shards that follow the topic."""
    return [shard.position.epoch for shard in worker.shards.values() if shard.live]


def status_application(reporter: Reporter, gate: Gate, peers: Peers | None = None) -> Starlette:
    """The application of a worker that answers no reads."""

    async def metrics(request: Request) -> Response:
        return metrics_page(request, reporter.metrics)

    own = [*_health_routes(reporter), Route("/metrics", metrics)]
    return Starlette(
        routes=[*own, *routes_of(WORKER, reporter, gate)],
        middleware=[Middleware(PeerMiddleware, peers or Peers())],
    )


def _read_application(
    reporter: Reporter,
    primary: Primary,
    backend: Backend,
    settings: Settings,
    thrift: WorkerThriftServer | None,
    operators: Operators,
) -> Starlette:
    metrics: list[Collector] = [reporter.metrics, primary.fallback.metrics.registry]
    groups: list[OperationGroup[Any]] = [OperationGroup(WORKER, reporter)]
    if thrift is not None:
        metrics.append(thrift.server.metrics)
        groups.append(OperationGroup(THRIFT, thrift))
    metrics.append(operators.metrics)
    groups += operators.operations
    process_info = ProcessInfo(
        lambda: reporter.status,
        lambda: [] if thrift is None else answered_by("thrift", thrift.server.counts()),
        thrift=lambda: None if thrift is None else thrift_part(thrift.server.metrics),
        missing_age_s=lambda: reporter.missing_age_s,
        measure=reporter.measure,
    )
    return create_app(
        backend,
        settings,
        more_metrics=metrics,
        more_routes=_health_routes(reporter),
        more_operations=groups,
        process_info=process_info,
    )


def _health_routes(reporter: Reporter) -> list[BaseRoute]:

    async def alive(_: Request) -> Response:
        return PlainTextResponse("ok\n")

    async def ready(_: Request) -> Response:
        await reporter.measure(PROBE_PATIENCE_S)
        status = reporter.status
        body, code = msgspec.json.encode(status), 200 if status.ready else 503
        return Response(body, code, media_type="application/json")

    return [Route("/healthz", alive), Route("/readyz", ready)]
