"""A real server in a thread, over shards in memory."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn

from query_api.http import Settings, create_app
from tests.query_api.http.asking import Nowhere
from tests.query_api.shards import MemoryShards


@contextmanager
def serving(
    shards: MemoryShards, database: Any = None, settings: Settings | None = None
) -> Iterator[str]:
    """The URL of a server that ends with the block."""
    app = create_app(shards, database or Nowhere(), settings)
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port = listening.getsockname()[1]
        config = uvicorn.Config(app, log_level="warning", access_log=False)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
        thread.start()
        deadline = time.monotonic() + 20
        while not server.started:
            assert time.monotonic() < deadline, "the server did not start"
            time.sleep(0.005)
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            server.should_exit = True
            thread.join(20)
