"""The HTTP server: uvicorn's, whose connections have limits and a fast path."""

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, cast

import msgspec
import uvicorn
from starlette.types import ASGIApp

from query_api.http.app_state import AppState
from query_api.http.connection import ReadConnection
from query_api.in_flight import Budget
from query_api.renewed_tls import renewed_tls
from query_api.timeouts import FINISH_S_MAX

KEEP_ALIVE_S: Final = 60
SWEEP_S: Final = 1
_TICKS_A_SECOND: Final = 10


class Tls(msgspec.Struct, frozen=True):
    """A certificate chain and its key."""

    certificate: Path
    key: Path


class ReadServer(uvicorn.Server):
    """Serves an application in the running event loop. The caller handles signals."""

    def __init__(self, app: ASGIApp, host: str, port: int, tls: Tls | None = None) -> None:
        self._ends = asyncio.Event()
        self._tls = tls
        super().__init__(
            uvicorn.Config(
                app,
                host=host,
                port=port,
                http=ReadConnection,
                ws="none",
                access_log=False,
                log_level="critical",
                proxy_headers=False,
                server_header=False,
                timeout_keep_alive=KEEP_ALIVE_S,
                # It would end what is under way with a bare 500.
                timeout_graceful_shutdown=FINISH_S_MAX + 1,
                ssl_certfile=None if tls is None else tls.certificate,
                ssl_keyfile=None if tls is None else tls.key,
            )
        )

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        # An application with ports of other protocols has a budget for all of them.
        self.lifespan.state.update(AppState(in_flight=Budget()))
        if self._tls is not None:
            self.config.ssl = renewed_tls(self._tls.certificate, self._tls.key)
        await super().startup(sockets)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        timer = asyncio.get_running_loop().call_later(FINISH_S_MAX, self._give_up)
        try:
            await super().shutdown(sockets)
        finally:
            timer.cancel()

    @property
    def _connections(self) -> list[ReadConnection]:
        return cast(list[ReadConnection], list(self.server_state.connections))

    def _give_up(self) -> None:
        for connection in self._connections:
            connection.give_up()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    def end(self) -> None:
        """Lets `serve` end once the requests that have begun are answered."""
        self.should_exit = True
        self._ends.set()

    async def main_loop(self) -> None:
        """Ticks once a second, as often as there is something to do, and not ten times."""
        counter = 0
        while not await self.on_tick(counter):
            counter += SWEEP_S * _TICKS_A_SECOND
            with suppress(TimeoutError):
                await asyncio.wait_for(self._ends.wait(), SWEEP_S)

    async def on_tick(self, counter: int) -> bool:
        for connection in self._connections:
            connection.sweep(SWEEP_S)
        return await super().on_tick(counter)
