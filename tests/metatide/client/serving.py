"""A real server in a thread, over shards in memory."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from starlette.applications import Starlette

from metatide.stack.machine import LOOPBACK, free_port
from query_api.backend import Backend
from query_api.http import ReadServer, Settings, Tls, create_app
from state.tracing import Tracing
from tests.query_api.http.read_client import Nowhere
from tests.query_api.shards import MemoryShards

_PATIENCE_S = 30


@contextmanager
def serving(
    shards: MemoryShards,
    database: Any = None,
    settings: Settings | None = None,
    tls: Tls | None = None,
    tracing: Tracing | None = None,
) -> Iterator[str]:
    """The URL of a server that ends with the block."""
    backend = Backend(shards, database or Nowhere(), tracing=tracing)
    with serving_app(create_app(backend, settings), tls, backend) as url:
        yield url


@contextmanager
def serving_app(
    app: Starlette, tls: Tls | None = None, backend: Backend | None = None
) -> Iterator[str]:
    """The same for any application; the backend ends with it."""
    port = free_port()
    started = threading.Event()
    server = ReadServer(app, LOOPBACK, port, tls)
    loops: list[asyncio.AbstractEventLoop] = []

    async def serve() -> None:
        loops.append(asyncio.get_running_loop())
        serving = asyncio.create_task(server.serve())
        while not server.started and not serving.done():
            await asyncio.sleep(0.005)
        started.set()
        await serving
        if backend is not None:
            await backend.close()

    thread = threading.Thread(target=asyncio.run, args=(serve(),), daemon=True)
    thread.start()
    try:
        assert started.wait(_PATIENCE_S), "the server did not start"
        yield f"{'http' if tls is None else 'https'}://{LOOPBACK}:{port}"
    finally:
        loops[0].call_soon_threadsafe(server.end)
        thread.join(_PATIENCE_S)
