"""The Thrift server: listens, and creates a connection for each client."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from functools import partial
from time import monotonic
from typing import Final

from query_api.authorization.guard import OPEN, Guard
from query_api.backend import Backend
from query_api.peers import Peers
from query_api.reasons import Reason, Source
from query_api.thrift.accepted import (
    CLOSING,
    Accepted,
    AcceptedBinary,
    AcceptedHttp,
    Clients,
    dispatch_of,
)
from query_api.thrift.call import Methods
from query_api.thrift.connection.ended_connections import EndedConnections
from query_api.thrift.hub import Hub
from query_api.thrift.metastore.client_links import ClientLinks
from query_api.thrift.metastore.constants import Constants
from query_api.thrift.metastore.link import Address, host_port
from query_api.thrift.metastore.upstream import Upstreams, UpstreamSettings
from query_api.thrift.metrics import Metrics
from query_api.thrift.reply_cache import reply_cache
from query_api.thrift.settings import ThriftSettings
from query_api.thrift.shadow import Difference, Shadow
from query_api.thrift.thrift_peers import ThriftPeers
from query_api.timeouts import FINISH_S_MAX

BACKLOG: Final = 1024
CHECK_EVERY_S: Final = 2.0
TLS_HANDSHAKE_S_MAX: Final = 10.0
"""A client counts as connected only once its handshake is complete."""
_LOOK_S: Final = 0.02
_ENDS: Final = "the server is shutting down"


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
        known_owner_of: Callable[[int], Address | None] = lambda _: None,
        peer_settings: UpstreamSettings | None = None,
        peers: Peers | None = None,
        host: str = "",
        expressions: Mapping[str, int] | None = None,
        guard: Guard = OPEN,
    ) -> None:
        """`owner_of` gives the Thrift address of a shard's owner, `known_owner_of` what is known of
        it; `peer_settings` tells how to talk to it, and `peers` whether it is one; `host` is the
        name by which peers ask this server.
        `expressions` counts the outcomes of reading serialized expressions, for the metrics.
        `guard` leaves answers to metastores. The caller closes the backend.
        """
        settings = settings or ThriftSettings()
        self._host = host
        self._connections: set[Accepted] = set()
        upstreams = Upstreams(upstream or UpstreamSettings())
        metrics = Metrics(
            lambda: len(self._connections), expressions, lambda: upstreams.connections
        )
        self._budget = backend.in_flight
        self._hub = Hub(
            settings=settings,
            methods=methods,
            database=backend.database,
            log_end_reads=backend.log_end_reads,
            recent=backend.recent,
            metastore_latency=backend.resolver.metastore_latency,
            views=backend.views,
            reply_cache=reply_cache(backend.views, backend.resolver.is_rewound),
            upstreams=upstreams,
            links=ClientLinks(upstreams),
            constants=Constants(upstreams),
            thrift_peers=ThriftPeers(
                owner_of, known_owner_of, peer_settings or UpstreamSettings(), peers or Peers()
            ),
            metrics=metrics,
            shadow=Shadow(methods, upstreams, metrics),
            guard=guard,
        )
        self._clients = Clients(
            hub=self._hub,
            budget=self._budget,
            connections=self._connections,
            dispatch=dispatch_of(backend.tracing),
            ended=EndedConnections(),
        )
        self._servers: list[asyncio.Server] = []
        self._checking: asyncio.Task[None] | None = None

    async def start(self, host: str, port: int) -> int:
        """Starts to listen; returns the port."""
        bound = await self._listen(partial(AcceptedBinary, self._clients), host, port)
        self._checking = asyncio.create_task(self._check())
        self._hub.thrift_peers.own_address = host_port((self._host, bound))
        return bound

    async def start_http(self, host: str, port: int) -> int:
        """Starts to listen for requests of HTTP; returns the port."""
        return await self._listen(partial(AcceptedHttp, self._clients), host, port)

    async def close(self) -> None:
        """Ends all connections, those with a call under way once it is answered."""
        for server in self._servers:
            server.close()
        with suppress(TimeoutError):
            async with asyncio.timeout(FINISH_S_MAX):
                while self._connections:
                    # Some may have come after the last look.
                    for connection in list(self._connections):
                        connection.finish(CLOSING, _ENDS)
                    await asyncio.sleep(_LOOK_S)
        if self._checking is not None:
            self._checking.cancel()
            with suppress(asyncio.CancelledError):
                await self._checking
        await self._hub.shadow.close()
        self._hub.thrift_peers.close()
        self._hub.constants.close()
        for connection in list(self._connections):
            connection.end(CLOSING, _ENDS)
            # Whoever takes nothing, or never ends TLS, would keep a closed one open.
            connection.abort()
        # Connections are notified of their end in the next iteration of the event loop.
        await asyncio.sleep(0)

    def forget(self) -> None:
        """Drops all replies cached so far."""
        self._hub.reply_cache.clear()

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

    async def _listen(self, accept: Callable[[], asyncio.Protocol], host: str, port: int) -> int:
        tls = self._hub.settings.tls
        server = await asyncio.get_running_loop().create_server(
            accept,
            host,
            port,
            backlog=BACKLOG,
            ssl=tls,
            ssl_handshake_timeout=None if tls is None else TLS_HANDSHAKE_S_MAX,
        )
        self._servers.append(server)
        bound: int = server.sockets[0].getsockname()[1]
        return bound

    async def _check(self) -> None:
        while True:
            await asyncio.sleep(CHECK_EVERY_S)
            self._check_all(monotonic())

    def _check_all(self, now: float) -> None:
        # Not in the task itself, whose variable would keep the last connection after its end.
        for connection in list(self._connections):
            connection.check(now)
        self._hub.links.check(now)
