"""The Thrift server: listens, and creates a connection for each client."""

import asyncio
import socket
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Final

import structlog

from query_api.backend import Backend
from query_api.in_flight import Budget
from query_api.partners import Partners
from query_api.reasons import Reason, Source
from query_api.thrift.call import Methods
from query_api.thrift.connection import Connection
from query_api.thrift.constants import Constants
from query_api.thrift.dispatch import Dispatch
from query_api.thrift.ended_connections import EndedConnections
from query_api.thrift.forward import FORWARDED, Peers
from query_api.thrift.hub import Hub
from query_api.thrift.metrics import Metrics
from query_api.thrift.reply_cache import reply_cache
from query_api.thrift.sasl.mechanism import Identity
from query_api.thrift.settings import ThriftSettings
from query_api.thrift.shadow import Difference, Shadow
from query_api.thrift.upstream import Address, Upstreams, UpstreamSettings, shown

if TYPE_CHECKING:
    from state.tracing import Tracing

BACKLOG: Final = 1024
CHECK_EVERY_S: Final = 2.0
_CLOSING: Final = "closing"

log = structlog.get_logger(__name__)


async def _nobody(_: int) -> Address | None:
    return None


class ThriftServer:
    """Serves the metastore's interface in the running event loop."""

    def __init__(
        self,
        methods: Methods,
        backend: Backend,
        settings: ThriftSettings | None = None,
        upstream: UpstreamSettings | None = None,
        *,
        owner_of: Callable[[int], Awaitable[Address | None]] = _nobody,
        peers: UpstreamSettings | None = None,
        partners: Partners | None = None,
        host: str = "",
        expressions: Mapping[str, int] | None = None,
    ) -> None:
        """`owner_of` gives the Thrift address of the worker that holds a shard; `peers` tells how
        to talk to it, and `partners` whether it is one; `host` is the name by which the others ask
        this server. `expressions` counts the outcomes of reading serialized expressions, for the
        metrics. The caller closes the backend.
        """
        settings = settings or ThriftSettings()
        self._host = host
        self._connections: set[_Accepted] = set()
        metrics = Metrics(lambda: len(self._connections), expressions)
        upstreams = Upstreams(upstream or UpstreamSettings())
        self._budget = backend.in_flight
        self._ended = EndedConnections()
        self._hub = Hub(
            settings,
            methods,
            backend.database,
            backend.latest,
            backend.recent,
            backend.views,
            reply_cache(backend.views, backend.database.history.is_rewound),
            upstreams,
            Constants(upstreams),
            Peers(
                owner_of,
                peers or UpstreamSettings(framed=settings.framed),
                partners or Partners(),
            ),
            metrics,
            Shadow(methods, upstreams, metrics),
        )
        self._dispatch = _dispatch_of(backend.tracing)
        self._server: asyncio.Server | None = None
        self._checking: asyncio.Task[None] | None = None

    async def start(self, host: str, port: int) -> int:
        """Starts to listen; returns the port."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(
            self._accept, host, port, backlog=BACKLOG, ssl=self._hub.settings.tls
        )
        self._checking = asyncio.create_task(self._check())
        bound: int = self._server.sockets[0].getsockname()[1]
        self._hub.peers.own_address = shown((self._host, bound))
        return bound

    async def close(self) -> None:
        """Ends all connections."""
        if self._server is not None:
            self._server.close()
        if self._checking is not None:
            self._checking.cancel()
            with suppress(asyncio.CancelledError):
                await self._checking
        await self._hub.shadow.close()
        self._hub.peers.close()
        self._hub.constants.close()
        for connection in list(self._connections):
            connection.end(_CLOSING, "the server ends")
        # Connections are notified of their end in the next iteration of the event loop.
        await asyncio.sleep(0)

    def forget(self) -> None:
        """Drops all replies kept so far."""
        self._hub.kept.clear()

    @property
    def differences(self) -> list[Difference]:
        """The differences that shadow mode found, the latest last."""
        return list(self._hub.shadow.differences)

    @property
    def metrics(self) -> Metrics:
        return self._hub.metrics

    def counts(self) -> Counter[tuple[Source, Reason]]:
        """The number of answers given here, by source and reason."""
        return self._hub.metrics.counts()

    def _accept(self) -> "_Accepted":
        return _Accepted(self._hub, self._budget, self._connections, self._ended, self._dispatch)

    async def _check(self) -> None:
        while True:
            await asyncio.sleep(CHECK_EVERY_S)
            now = monotonic()
            for connection in list(self._connections):
                connection.check(now)


_Dispatching = Callable[[Hub, Connection], Dispatch]


def _dispatch_of(tracing: "Tracing | None") -> _Dispatching:
    if tracing is None:
        return Dispatch
    from query_api.thrift.traced_dispatch import TracedDispatch

    return partial(TracedDispatch, tracing)


class _Accepted(Connection):
    """A connection that is counted in the metrics, and whose end is logged."""

    def __init__(
        self,
        hub: Hub,
        budget: Budget,
        all_of_them: set["_Accepted"],
        ended: EndedConnections,
        dispatch: "_Dispatching",
    ) -> None:
        super().__init__(hub.settings, budget)
        self._dispatch = dispatch
        self._calls: Dispatch | None = None
        self._hub = hub
        self._all = all_of_them
        self._ended = ended

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self.calls = self._calls = self._dispatch(self._hub, self)
        if self._hub.peers.partners.have_secret:
            self.workers_methods = frozenset((FORWARDED,))
        sock = transport.get_extra_info("socket")
        if sock is not None:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        if len(self._all) >= self._hub.settings.connections_max:
            self.end("connections", "there are too many connections")
        self._all.add(self)

    def identified(self, identity: Identity) -> None:
        assert self._calls is not None
        self._calls.identify(identity)
        self._hub.metrics.logins[identity.kind] += 1

    def connection_lost(self, error: Exception | None) -> None:
        super().connection_lost(error)
        self._all.discard(self)
        if self.ended is not None:
            self._hub.metrics.refused[self.ended] += 1
            if self.ended != _CLOSING:
                user = "" if self._calls is None else self._calls.user
                self._ended.note(self.ended, self.why, self.client_address, user)
