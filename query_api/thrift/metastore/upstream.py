"""Connections to the metastores behind the server."""

import asyncio
import random
import ssl
from collections.abc import Callable, Mapping, Sequence
from time import monotonic
from typing import Final, NamedTuple, Protocol
from weakref import WeakSet

import msgspec
import structlog

from hive.delegation_tokens import Token
from hive.errors import MetastoreLoginError, UnimpersonatedError, UpstreamError
from query_api.thrift.metastore.http_layer import HttpLayer
from query_api.thrift.metastore.link import Address, CollectedReply, Link, host_port
from query_api.thrift.metastore.login.impersonation import Impersonation, ask_for_token
from query_api.thrift.metastore.login.negotiation import Exchange, SaslFrames, log_in
from query_api.thrift.metastore.login.token import TokenExchange
from query_api.thrift.protocol.frames import Frames
from query_api.thrift.protocol.wire import MessageType
from query_api.thrift.sasl.mechanism import Layer
from query_api.thrift.sasl.negotiation import RESPONSE_BYTES_MAX

CONNECT_TIMEOUT_S: Final = 3.0
LOGIN_TIMEOUT_S: Final = 15.0
"""How long a metastore and the key distribution centre may take together for a login."""
OWN_NAME: Final = "metatide"
NOBODY: Final = "anonymous"
"""The users of calls over HTTP, where each must name one: the worker, and unnamed clients."""
AVOIDED_S: Final = 5.0
"""For this long, a metastore that didn't answer is tried only after the others."""

OF_WORKER: Final = "worker"
OF_CLIENTS: Final = "client"
IMPERSONATED: Final = "impersonated"
KINDS: Final = (OF_WORKER, OF_CLIENTS, IMPERSONATED)
"""For whom connections are: the worker itself, a client, or a client as whose user they are logged
in.
"""

log = structlog.get_logger(__name__)


class Login(Protocol):
    """How the worker logs in as itself."""

    @property
    def principal(self) -> str: ...

    def exchange(self, host: str, /) -> Exchange: ...

    def forget_tickets(self) -> None:
        """Called when a metastore refuses a login."""


class UpstreamSettings(msgspec.Struct, frozen=True):
    """The metastores' addresses, and how to talk to them."""

    addresses: tuple[Address, ...] = ()
    framed: bool = False
    http_path: str | None = None
    """The path to post calls to, if metastores speak Thrift over HTTP."""
    tls: ssl.SSLContext | None = None
    login: Login | None = None
    """How to prove who the worker is; None if metastores let in everybody."""
    authorization: Callable[[], bytes] | None = None
    """What shows metastores over HTTP who the worker is; None if they let in everybody."""
    impersonates: bool = False
    """Whether calls of clients run as these users, if metastores don't let in everybody."""
    connections_per_user_max: int = 200
    idle_s: float = 300.0
    """How long a client's connection to a metastore stays open without a call."""


class Introduction(NamedTuple):
    """What a metastore is told first on a connection."""

    user: str = ""
    """The client's user, as it says or has proved."""
    principal: str = ""
    """The name that the client has proved, as metastores know it."""
    claim: bytes | None = None
    """The call that says who the client is, for metastores that believe that."""
    claim_key: bytes = b""
    """What stands for the call's arguments: the call itself is long, and differs by its number."""
    session: Sequence[bytes] = ()
    """The calls with the settings of the client's session."""
    authorization: Callable[[], bytes] | None = None
    """What shows a metastore over HTTP who the client is, if it has shown a token."""


OWN: Final = Introduction()
"""The worker itself."""


class Upstreams:
    """The metastores: new connections are spread over those that answer."""

    def __init__(self, settings: UpstreamSettings) -> None:
        self.settings = settings
        self._failed: dict[Address, float] = {}
        self._impersonation = Impersonation(self._new_token)
        self._links: Mapping[str, WeakSet[Link]] = {kind: WeakSet() for kind in KINDS}

    @property
    def count(self) -> int:
        return len(self.settings.addresses)

    @property
    def connections(self) -> dict[str, int]:
        """The number of open connections by kind."""
        return {kind: sum(link.usable for link in links) for kind, links in self._links.items()}

    async def open(self, introduction: Introduction = OWN) -> Link:
        """Opens a connection for a client, or for the worker itself; raises UpstreamError if no
        metastore answers.
        """
        settings = self.settings
        impersonates = settings.login is not None and settings.impersonates
        if impersonates and introduction is not OWN and not introduction.principal:
            raise UpstreamError("metastores let in only clients that have proved who they are")
        if self._authorization_of(introduction) is None and settings.authorization is not None:
            raise UpstreamError(
                "metastores want the client's own token: log in by it at thrift.http_port"
            )
        failures = []
        for address in self._in_order():
            try:
                if impersonates and introduction.principal:
                    link = await self._connect_for(introduction.principal, address)
                else:
                    link = await self._connect(address, introduction)
                await self._introduce(link, introduction)
            except UnimpersonatedError:
                raise
            except (OSError, TimeoutError, UpstreamError) as error:
                why = str(error) or "no answer in time"
                log.warning("a metastore doesn't answer", address=host_port(address), why=why)
                self.avoid(address)
                failures.append(f"{host_port(address)}: {why}")
                continue
            self._failed.pop(address, None)
            self._links[self._kind_of(introduction)].add(link)
            return link
        if not failures:
            raise UpstreamError("no metastore to relay to is configured (upstream.url)")
        raise UpstreamError(f"no metastore answers: {'; '.join(failures)}")

    def _kind_of(self, introduction: Introduction) -> str:
        if introduction is OWN:
            return OF_WORKER
        return IMPERSONATED if self.settings.impersonates else OF_CLIENTS

    def _authorization_of(self, introduction: Introduction) -> Callable[[], bytes] | None:
        """What shows a metastore over HTTP who calls."""
        if introduction is OWN or not self.settings.impersonates:
            return self.settings.authorization
        return introduction.authorization

    async def open_unproved(self) -> tuple[SaslFrames, asyncio.Transport]:
        """A connection to a metastore on which nothing was said; raises UpstreamError."""
        failures = []
        for address in self._in_order():
            try:
                async with asyncio.timeout(CONNECT_TIMEOUT_S):
                    return await self._open_frames(address)
            except (OSError, TimeoutError) as error:
                self.avoid(address)
                failures.append(f"{host_port(address)}: {str(error) or 'no answer in time'}")
        raise UpstreamError(f"no metastore answers: {'; '.join(failures)}")

    def avoid(self, address: Address) -> None:
        """Prefers the other metastores for a while."""
        self._failed[address] = monotonic() + AVOIDED_S

    def _in_order(self) -> list[Address]:
        """All metastores; those that failed lately come last."""
        now = monotonic()
        addresses = list(self.settings.addresses)
        random.shuffle(addresses)
        return sorted(addresses, key=lambda address: self._failed.get(address, 0.0) > now)

    async def _connect(self, address: Address, introduction: Introduction = OWN) -> Link:
        """A connection without impersonation."""
        login = self.settings.login
        if login is not None:
            try:
                return await self._logged_in(address, login.exchange(address[0]))
            except MetastoreLoginError:
                login.forget_tickets()
                raise
        layer = self._layer(address, introduction)
        async with asyncio.timeout(CONNECT_TIMEOUT_S):
            _, link = await asyncio.get_running_loop().create_connection(
                lambda: Link(address, layer), *address, ssl=self.settings.tls
            )
        return link

    def _layer(self, address: Address, introduction: Introduction) -> Layer | None:
        if self.settings.http_path is not None:
            user = OWN_NAME if introduction is OWN else introduction.user or NOBODY
            authorization = self._authorization_of(introduction)
            return HttpLayer(address, self.settings.http_path, user, authorization)
        return Frames() if self.settings.framed else None

    async def _connect_for(self, user: str, address: Address) -> Link:
        """A connection on which calls run as a user."""
        tokens = self._impersonation
        token = await tokens.token(address, user)
        try:
            return await self._logged_in(address, TokenExchange(token))
        except MetastoreLoginError:
            # It has ended, or the metastore has lost it.
            tokens.forget(address, user, token)
        token = await tokens.token(address, user)
        return await self._logged_in(address, TokenExchange(token))

    async def _new_token(self, address: Address, user: str) -> Token:
        login = self.settings.login
        assert login is not None
        link = await self._connect(address)
        try:
            async with asyncio.timeout(CONNECT_TIMEOUT_S):
                return await ask_for_token(link, user, login.principal)
        finally:
            link.close()

    async def _logged_in(self, address: Address, exchange: Exchange) -> Link:
        """A connection after a login."""
        async with asyncio.timeout(LOGIN_TIMEOUT_S):
            frames, transport = await self._open_frames(address)
            try:
                layer = await log_in(frames, exchange)
            except BaseException:
                transport.abort()
                raise
        link = Link(address, layer)
        transport.set_protocol(link)
        link.connection_made(transport)
        transport.resume_reading()
        return link

    async def _open_frames(self, address: Address) -> tuple[SaslFrames, asyncio.Transport]:
        reader = asyncio.StreamReader(limit=RESPONSE_BYTES_MAX)
        transport, _ = await asyncio.get_running_loop().create_connection(
            lambda: asyncio.StreamReaderProtocol(reader), *address, ssl=self.settings.tls
        )
        return SaslFrames(reader, transport), transport

    async def _introduce(self, link: Link, introduction: Introduction) -> None:
        """Makes a client's first calls."""
        calls = list(introduction.session)
        believes = self.settings.login is None and self.settings.http_path is None
        if introduction.claim is not None and believes:
            calls.insert(0, introduction.claim)
        try:
            async with asyncio.timeout(CONNECT_TIMEOUT_S):
                for message in calls:
                    collected = CollectedReply()
                    link.call(message, collected)
                    await collected.reply
                    if link.reply_kind != MessageType.REPLY:
                        raise UpstreamError("it refused the client's session settings")
        except BaseException:
            link.close()
            raise
