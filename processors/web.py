"""The HTTP routes of a worker's status."""

import asyncio
from typing import Final

import msgspec
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

from processors.shard_content import shard_content
from processors.status import worker_status
from processors.worker import Worker

STATUS_PATH: Final = "/v1/status"
CONTENT_PATH: Final = "/v1/status/shards/{shard:int}"


def routes(worker: Worker) -> list[BaseRoute]:
    """The routes of a worker's health and status."""

    async def alive(_: Request) -> Response:
        return PlainTextResponse("ok\n")

    async def ready(_: Request) -> Response:
        status = worker_status(worker)
        return _json(status, 200 if status.ready else 503)

    async def status(_: Request) -> Response:
        return _json(worker_status(worker))

    async def content(request: Request) -> Response:
        number = request.path_params["shard"]
        shard = worker.shards.get(number)
        snapshot = None if shard is None else shard.snapshot()
        if snapshot is None:
            raise HTTPException(404, f"shard {number} isn't open here")
        path = worker.directory.store(number)
        return _json(await asyncio.to_thread(shard_content, number, snapshot, path))

    return [
        Route("/healthz", alive),
        Route("/readyz", ready),
        Route(STATUS_PATH, status),
        Route(CONTENT_PATH, content),
    ]


def metrics_route(worker: Worker) -> BaseRoute:
    """The worker's own metrics, for workers without a server of reads that adds its own."""

    async def metrics(_: Request) -> Response:
        return Response(worker.metrics.page(), media_type=CONTENT_TYPE_LATEST)

    return Route("/metrics", metrics)


def _json(value: object, code: int = 200) -> Response:
    return Response(msgspec.json.encode(value), code, media_type="application/json")
