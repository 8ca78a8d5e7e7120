"""Asks the Thrift servers of other workers."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

import msgspec
import structlog

from hive.errors import ThriftError, UnprovedError, UpstreamError
from query_api.peers import Peers
from query_api.thrift.call import Call, CallAnswer
from query_api.thrift.forward import FORWARDED, answer_of, forwarding
from query_api.thrift.metastore.link import Address, Link, host_port
from query_api.thrift.metastore.upstream import Upstreams, UpstreamSettings

TIMEOUT_S: Final = 5.0
LINKS_MAX: Final = 16
"""The number of connections to each other worker."""
_PROTOCOL: Final = "thrift"
Done = Callable[[CallAnswer | None], None]
"""Takes the owner's answer; None if there is none."""

log = structlog.get_logger(__name__)


class _Server(msgspec.Struct, eq=False):
    """The Thrift server of another worker, and the connections to it."""

    address: str
    upstreams: Upstreams
    idle: list[Link]
    links: int = 0

    def idle_link(self) -> Link | None:
        while self.idle:
            link = self.idle.pop()
            if link.usable:
                return link
            self.links -= 1
        return None

    async def open_link(self) -> Link | None:
        """A new connection; None if there are too many."""
        if self.links >= LINKS_MAX:
            return None
        self.links += 1
        try:
            return await self.upstreams.open()
        except BaseException:
            self.links -= 1
            raise

    def drop(self, link: Link) -> None:
        self.links -= 1
        link.close()


class ThriftPeers:
    """The Thrift servers of the other workers."""

    def __init__(
        self,
        owner_of: Callable[[int], Awaitable[Address | None]],
        known_owner_of: Callable[[int], Address | None],
        settings: UpstreamSettings,
        peers: Peers,
    ) -> None:
        """`known_owner_of` tells what is known of a shard's owner, `owner_of` asks if need be.
        `settings` tells how to talk to all of them; it names no addresses.
        """
        self.peers = peers
        self.own_address = ""
        """The HOST:PORT by which the others ask this worker."""
        self._owner_of = owner_of
        self._known_owner_of = known_owner_of
        self._settings = settings
        self._servers: dict[Address, _Server] = {}

    def ask_now(self, shard: int, call: Call, done: Done) -> "PeerCall | None":
        """Asks the owner over a connection that is open; None if there is none."""
        address = self._known_owner_of(shard)
        server = None if address is None else self._servers.get(address)
        if server is None or not self.peers.may_ask(server.address):
            return None
        link = server.idle_link()
        if link is None:
            return None
        until_s = asyncio.get_running_loop().time() + TIMEOUT_S
        return PeerCall(self.peers, server, link, shard, call, done, until_s)

    async def ask(self, shard: int, call: Call) -> CallAnswer | None:
        """The owner's answer; None if it has none, or if the owner is unknown or not trusted."""
        loop = asyncio.get_running_loop()
        until_s = loop.time() + TIMEOUT_S
        try:
            async with asyncio.timeout_at(until_s):
                address = await self._owner_of(shard)
                if address is None or not self.peers.may_ask(host_port(address)):
                    return None
                server = self._server(address)
                link = server.idle_link() or await server.open_link()
        except (UpstreamError, TimeoutError, OSError) as error:
            _warn(shard, error)
            return None
        if link is None:
            return None
        answer: asyncio.Future[CallAnswer | None] = loop.create_future()

        def done(outcome: CallAnswer | None) -> None:
            # The client may have left in the same step of the event loop.
            if not answer.cancelled():
                answer.set_result(outcome)

        peer_call = PeerCall(self.peers, server, link, shard, call, done, until_s)
        try:
            return await answer
        finally:
            peer_call.cancel()

    def close(self) -> None:
        for server in self._servers.values():
            for link in server.idle:
                link.close()
        self._servers.clear()

    def _server(self, address: Address) -> _Server:
        server = self._servers.get(address)
        if server is None:
            settings = msgspec.structs.replace(self._settings, addresses=(address,))
            server = _Server(host_port(address), Upstreams(settings), [])
            self._servers[address] = server
        return server


class PeerCall:
    """A call that is under way at another worker. It needs no task: most of them take far less time
    than one would.
    """

    def __init__(
        self,
        peers: Peers,
        server: _Server,
        link: Link,
        shard: int,
        call: Call,
        done: Done,
        until_s: float,
    ) -> None:
        """Sends the call. `done` gets the answer, unless the call is cancelled before; None at
        `until_s`, by the event loop's clock.
        """
        self._peers = peers
        self._server = server
        self._link = link
        self._shard = shard
        self._done = done
        self._parts: list[bytes] = []
        self._is_over = False
        arguments, self._nonce = forwarding(call, server.address, peers)
        self._timer = asyncio.get_running_loop().call_at(until_s, self._end_late)
        self._sequence = link.call_as_worker(FORWARDED, arguments, self)

    def cancel(self) -> None:
        """Ends the call, and its connection, unless it is over."""
        if not self._is_over:
            self._end()
            self._server.drop(self._link)

    def piece(self, data: bytes) -> None:
        self._parts.append(data)

    def whole(self) -> None:
        self._end()
        try:
            answer = self._answer()
        except UnprovedError:
            self._server.drop(self._link)
            self._peers.distrust(self._server.address, _PROTOCOL)
            self._done(None)
        except (UpstreamError, ThriftError) as error:
            self._fail(error)
        else:
            self._server.idle.append(self._link)
            self._done(answer)

    def lost(self, why: str) -> None:
        self._end()
        self._fail(UpstreamError(why))

    def _answer(self) -> CallAnswer | None:
        reply = self._link.own_reply(FORWARDED, self._sequence, b"".join(self._parts))
        return answer_of(reply, self._peers, self._nonce, self._shard)

    def _end(self) -> None:
        self._is_over = True
        self._timer.cancel()

    def _end_late(self) -> None:
        self._end()
        self._fail(TimeoutError(f"no answer within {TIMEOUT_S:g} s"))

    def _fail(self, error: Exception) -> None:
        self._server.drop(self._link)
        _warn(self._shard, error)
        self._done(None)


def _warn(shard: int, error: Exception) -> None:
    log.warning("a shard's owner does not answer", shard=shard, error=str(error) or "not in time")
