"""A worker that takes orders, from operators who have the workers' secret among others."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.routing import BaseRoute

from query_api.http.access import OPEN, Tokens
from query_api.http.admin import ORDERS, Administration
from query_api.http.gate import Gate
from query_api.http.proof import PeerMiddleware
from query_api.http.routes import routes_of
from query_api.peers import Peers, SecretFile
from query_api.shards import Views
from tests.metatide.client.serving import serving_app
from tests.query_api.http.connectors import Connectors
from tests.query_api.shards import MemoryShard, MemoryShards

ADVERTISED = "127.1"
"""A name that leads to this machine, and isn't known as a name of it."""


@contextmanager
def worker(
    secret: Path | None, tokens: Tokens = OPEN, host: str = ADVERTISED
) -> Iterator[tuple[str, Connectors]]:
    """The URL of a worker that takes orders, and where they go."""
    connectors = Connectors()
    administration = Administration(Views(MemoryShards(MemoryShard())), connectors)
    with proving(secret, routes_of(ORDERS, administration, Gate(tokens)), host) as url:
        yield url, connectors


@contextmanager
def proving(
    secret: Path | None, routes: Sequence[BaseRoute], host: str = ADVERTISED
) -> Iterator[str]:
    """The URL of a worker with these routes, which proves what it answers."""
    peers = Peers(None if secret is None else SecretFile(secret))
    app = Starlette(routes=routes, middleware=[Middleware(PeerMiddleware, peers)])
    with serving_app(app) as url:
        url = url.replace("127.0.0.1", host)
        peers.address = url.removeprefix("http://")
        yield url
