"""Clients of workers over Thrift."""

import asyncio
from typing import Final

from query_api.thrift.metastore.link import Link, Reply, ask
from tests.simulation.network import Address

ANSWER_S_MAX: Final = 90.0


class ThriftSession:
    """A connection to a worker, and what was written through it."""

    def __init__(self, link: Link) -> None:
        self.link = link
        self.wrote_at = 0
        """The moment of the database, by its number, from which on it has what was written."""

    async def call(self, method: str, arguments: bytes) -> Reply:
        """Raises MetatideError if the connection is lost, or TimeoutError."""
        try:
            async with asyncio.timeout(ANSWER_S_MAX):
                return await ask(self.link, method, arguments)
        except BaseException:
            self.link.close()
            raise


class ThriftSessions:
    """As many connections to each worker as there are calls at a time."""

    def __init__(self) -> None:
        self._idle: dict[Address, list[ThriftSession]] = {}

    async def borrow(self, worker: Address) -> ThriftSession:
        """A session that nobody uses; raises OSError if the worker can't be reached."""
        idle = self._idle.get(worker, [])
        while idle:
            session = idle.pop()
            if session.link.usable:
                return session
        loop = asyncio.get_running_loop()
        _, link = await loop.create_connection(lambda: Link(worker), *worker)
        return ThriftSession(link)

    def give_back(self, session: ThriftSession) -> None:
        self._idle.setdefault(session.link.address, []).append(session)
