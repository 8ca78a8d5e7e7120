"""Connections of clients that are counted in the metrics, and whose end is logged."""

import asyncio
import socket
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol

import msgspec

from query_api.in_flight import Budget
from query_api.thrift.connection.connection import Connection
from query_api.thrift.connection.ended_connections import EndedConnections
from query_api.thrift.dispatch import Dispatch
from query_api.thrift.forward import FORWARDED
from query_api.thrift.http_transport.connection import HttpConnection
from query_api.thrift.http_transport.session import Session
from query_api.thrift.hub import Hub
from query_api.thrift.sasl.mechanism import Identity

if TYPE_CHECKING:
    from state.tracing import Tracing

CLOSING: Final = "closing"
Dispatching = Callable[[Hub, Connection], Dispatch]


class Accepted(Protocol):
    """A connection of any transport."""

    client_address: str
    ended: str | None
    why: str

    def end(self, kind: str, why: str, /) -> None: ...

    def finish(self, kind: str, why: str, /) -> None: ...

    def abort(self) -> None:
        """Ends the connection whatever it holds."""

    def check(self, now: float, /) -> None:
        """Ends the connection if it makes no progress."""


class Clients(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """The clients of a server, and what their connections need."""

    hub: Hub
    budget: Budget
    connections: set[Accepted]
    dispatch: Dispatching
    ended: EndedConnections

    def add(self, connection: Accepted, transport: asyncio.BaseTransport) -> None:
        sock = transport.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        if len(self.connections) >= self.hub.settings.connections_max:
            connection.end("connections", "there are too many connections")
        self.connections.add(connection)

    def remove(self, connection: Accepted, user: str) -> None:
        self.connections.discard(connection)
        if connection.ended is not None:
            self.hub.metrics.refused[connection.ended] += 1
            if connection.ended != CLOSING:
                why, address = connection.why, connection.client_address
                self.ended.note(connection.ended, why, address, user)


def dispatch_of(tracing: "Tracing | None") -> Dispatching:
    """What handles the calls of a connection."""
    if tracing is None:
        return Dispatch
    from query_api.thrift.traced_dispatch import TracedDispatch

    return partial(TracedDispatch, tracing)


class AcceptedBinary(Connection):
    """A connection whose bytes are calls."""

    def __init__(self, clients: Clients) -> None:
        super().__init__(clients.hub.settings, clients.budget)
        self._clients = clients
        self._dispatch: Dispatch | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        clients = self._clients
        self.calls = self._dispatch = clients.dispatch(clients.hub, self)
        if clients.hub.thrift_peers.peers.have_secret:
            self.workers_methods = frozenset((FORWARDED,))
        clients.add(self, transport)

    def identified(self, identity: Identity) -> None:
        assert self._dispatch is not None
        self._dispatch.identify(identity)
        self._clients.hub.metrics.logins[identity.kind] += 1

    def connection_lost(self, error: Exception | None) -> None:
        super().connection_lost(error)
        self._clients.remove(self, "" if self._dispatch is None else self._dispatch.user)
        self._dispatch = None


class AcceptedHttp(HttpConnection):
    """A connection whose requests hold calls."""

    def __init__(self, clients: Clients) -> None:
        super().__init__(clients.hub.settings, clients.budget)
        self._clients = clients
        self._dispatch: Dispatch | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._clients.add(self, transport)

    def begin_session(self, identity: Identity) -> Session:
        hub = self._clients.hub
        session = Session(hub.settings, self._clients.budget, self)
        session.calls = self._dispatch = dispatch = self._clients.dispatch(hub, session)
        if identity.kind:
            dispatch.identify(identity)
            hub.metrics.logins[identity.kind] += 1
        else:
            dispatch.claim(identity.user)
        return session

    def refused(self, kind: str, why: str) -> None:
        self._clients.hub.metrics.refused[kind] += 1
        event = "a client's request was refused"
        self._clients.ended.note(kind, why, self.client_address, self._user, event=event)

    def connection_lost(self, error: Exception | None) -> None:
        super().connection_lost(error)
        self._clients.remove(self, self._user)
        self._dispatch = None

    @property
    def _user(self) -> str:
        """Who sent the last call."""
        return "" if self._dispatch is None else self._dispatch.user
