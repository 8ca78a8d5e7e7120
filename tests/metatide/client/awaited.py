"""The client for an event loop, as if nothing had to be awaited."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any, cast

from metatide.client import AsyncClient, Client, Settings
from metatide.client.bound import DEFAULTS


@contextmanager
def awaited(url: str, settings: Settings = DEFAULTS) -> Iterator[Client]:
    """An `AsyncClient` in an event loop of its own, which runs during each call."""
    with asyncio.Runner() as runner:
        client = AsyncClient(url, settings)
        try:
            yield cast(Client, _Awaited(client, runner))
        finally:
            runner.run(client.aclose())


class _Awaited:
    """Waits for what the client's methods return. A stream is read to its end at once."""

    def __init__(self, client: AsyncClient, runner: asyncio.Runner) -> None:
        self._client = client
        self._runner = runner

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._client, name)
        return self._waiting(attribute) if callable(attribute) else attribute

    def _waiting(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            result = self._runner.run(_result(method(*arguments, **named)))
            return _Awaited(result, self._runner) if isinstance(result, AsyncClient) else result

        return call


async def _result(returned: Any) -> Any:
    match returned:
        case AsyncIterator():
            return iter([part async for part in returned])
        case Awaitable():
            return await returned
        case _:
            return returned
