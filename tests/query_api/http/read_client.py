"""A server over shards in memory, asked through HTTP."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from copy import copy
from typing import Any

import httpx

from hive.errors import NoSuchObjectError, UnansweredError
from query_api.backend import Backend
from query_api.database_answer import DatabaseAnswer
from query_api.http import Settings, create_app
from query_api.latest.log_end import LogEnd
from query_api.latest.log_history import LogHistory
from query_api.positions import Position
from query_api.reads import Read
from tests.query_api.shards import MemoryShards


class Nowhere:
    """A database that is down, or that only tells the current event."""

    def __init__(self, log: LogEnd | None = None) -> None:
        self.history = LogHistory()
        self.log = log
        self.reads: list[Read[Any]] = []

    async def answer(self, read: Read[Any]) -> DatabaseAnswer[Any]:
        self.reads.append(read)
        raise UnansweredError("the metastore's database does not answer", 1.0)

    async def after_now(self, reached: Position) -> LogEnd | None:
        if self.log is None:
            return None
        # A database knows no epochs: a read is of the one that is asked for.
        log = copy(self.log)
        log.epoch = reached.epoch
        return log


class EmptyDatabase(Nowhere):
    """A database in which nothing is, as of an event."""

    def __init__(self, log: LogEnd) -> None:
        super().__init__(log)
        self.event = log.current

    async def answer(self, read: Read[Any]) -> DatabaseAnswer[Any]:
        self.reads.append(read)
        return DatabaseAnswer(NoSuchObjectError("there is nothing"), self.event)


@asynccontextmanager
async def client_of(
    backend: Backend, settings: Settings | None = None
) -> AsyncIterator[httpx.AsyncClient]:
    """A client of a server of its own; the backend ends with it."""
    app = create_app(backend, settings)
    transport = httpx.ASGITransport(app)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url="http://localhost") as client,
    ):
        yield client
    await backend.close()


Asking = Callable[[httpx.AsyncClient], Awaitable[None]]


def ask(
    shards: MemoryShards, asking: Asking, *, database: Any = None, settings: Settings | None = None
) -> None:
    """Runs `asking` with a client of a server of its own."""

    async def run() -> None:
        async with client_of(Backend(shards, database or Nowhere()), settings) as client:
            await asking(client)

    asyncio.run(run())


def get(
    shards: MemoryShards,
    *paths: str,
    headers: dict[str, str] | None = None,
    database: Any = None,
    settings: Settings | None = None,
) -> list[httpx.Response]:
    """The responses to some requests."""
    responses: list[httpx.Response] = []

    async def asking(client: httpx.AsyncClient) -> None:
        for path in paths:
            responses.append(await client.get(path, headers=headers))

    ask(shards, asking, database=database, settings=settings)
    return responses


def grounds(response: httpx.Response) -> tuple[str, str]:
    """Who answered and why."""
    return response.headers["metatide-source"], response.headers["metatide-reason"]
