"""A worker that takes orders, from operators who have the workers' secret among others."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from starlette.applications import Starlette
from starlette.middleware import Middleware

from query_api.http.access import OPEN, Tokens
from query_api.http.admin import ORDERS, Administration
from query_api.http.gate import Gate
from query_api.http.proof import PartnerMiddleware
from query_api.http.routes import routes_of
from query_api.partners import Partners, SecretFile
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
    partners = Partners(None if secret is None else SecretFile(secret))
    app = Starlette(
        routes=routes_of(ORDERS, administration, Gate(tokens)),
        middleware=[Middleware(PartnerMiddleware, partners)],
    )
    with serving_app(app) as url:
        url = url.replace("127.0.0.1", host)
        partners.address = url.removeprefix("http://")
        yield url, connectors
