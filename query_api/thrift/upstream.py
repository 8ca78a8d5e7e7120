"""Connections to the metastores behind the server."""

import asyncio
import random
import ssl
from collections.abc import Sequence
from time import monotonic
from typing import Final, Protocol, cast

import msgspec
import structlog

from hive.errors import ThriftError, UpstreamError
from query_api.thrift.frames import FRAME_BYTES_MAX, Frames
from query_api.thrift.scanner import Scanner
from query_api.thrift.wire import MessageType

Address = tuple[str, int]
CONNECT_TIMEOUT_S: Final = 3.0
AVOIDED_S: Final = 5.0
"""For this long, a metastore that didn't answer is tried only after the others."""

log = structlog.get_logger(__name__)


class UpstreamSettings(msgspec.Struct, frozen=True):
    """The metastores' addresses, and how to talk to them."""

    addresses: tuple[Address, ...] = ()
    framed: bool = False
    tls: ssl.SSLContext | None = None


class Taker(Protocol):
    """The receiver of a reply."""

    def piece(self, data: bytes, /) -> None:
        """Called with the next bytes of the reply."""

    def whole(self) -> None:
        """Called when the reply is complete."""

    def lost(self, why: str, /) -> None:
        """Called when the connection is lost before the reply is complete."""


class Link(asyncio.Protocol):
    """A connection to a metastore, which carries one call at a time."""

    def __init__(self, address: Address, is_framed: bool) -> None:
        self.address = address
        self._frames = Frames() if is_framed else None
        self._scanner = Scanner(FRAME_BYTES_MAX)
        self._taker: Taker | None = None
        self._transport: asyncio.Transport | None = None

    @property
    def usable(self) -> bool:
        """Whether a call can be sent, as far as is known."""
        return self._transport is not None and not self._transport.is_closing()

    @property
    def reply_kind(self) -> int:
        """The type of the last reply, once its header has arrived."""
        return self._scanner.kind

    @property
    def reply_body_at(self) -> int:
        return self._scanner.body_at

    def call(self, message: bytes, taker: Taker) -> None:
        """Sends a call, whose reply goes to the taker."""
        assert self._taker is None, "a call is under way"
        self._taker = taker
        self.send(message)

    def send(self, message: bytes) -> None:
        """Sends a message without awaiting a reply."""
        assert self._transport is not None
        self._transport.write(message if self._frames is None else self._frames.framed(message))

    def pause(self) -> None:
        if self._transport is not None and self.usable:
            self._transport.pause_reading()

    def resume(self) -> None:
        if self._transport is not None and self.usable:
            self._transport.resume_reading()

    def close(self) -> None:
        self._taker = None
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports aren't subclasses of asyncio's.
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        taker = self._taker
        if taker is None:
            self._fail("it sent data without a call")
            return
        try:
            if self._frames is not None:
                data = self._frames.feed(data)
            end = self._scanner.feed(data)
        except ThriftError as error:
            self._fail(f"its reply can't be read: {error}")
            return
        if end < 0:
            taker.piece(data)
            return
        self._taker = None
        taker.piece(data if end == len(data) else data[:end])
        taker.whole()
        if end < len(data):
            self._fail("it sent more than one reply")

    def eof_received(self) -> None:
        self._fail("it hung up")

    def connection_lost(self, exc: Exception | None) -> None:
        self._fail(str(exc) if exc else "it hung up")

    def _fail(self, why: str) -> None:
        taker = self._taker
        self.close()
        if taker is not None:
            taker.lost(why)


class Collected:
    """Collects a whole reply."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self.reply: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    def piece(self, data: bytes) -> None:
        self._parts.append(data)

    def whole(self) -> None:
        if not self.reply.done():
            self.reply.set_result(b"".join(self._parts))

    def lost(self, why: str) -> None:
        if not self.reply.done():
            self.reply.set_exception(UpstreamError(why))


class Upstreams:
    """The metastores: new connections are spread over those that answer."""

    def __init__(self, settings: UpstreamSettings) -> None:
        self.settings = settings
        self._failed: dict[Address, float] = {}

    @property
    def count(self) -> int:
        return len(self.settings.addresses)

    async def open(self, opening: Sequence[bytes] = ()) -> Link:
        """Opens a connection and makes these calls on it; raises UpstreamError if no metastore
        answers.
        """
        failures = []
        for address in self._in_order():
            try:
                async with asyncio.timeout(CONNECT_TIMEOUT_S):
                    link = await self._connect(address, opening)
            except (OSError, TimeoutError, UpstreamError) as error:
                why = str(error) or "no answer in time"
                log.warning("a metastore doesn't answer", address=shown(address), why=why)
                self.avoid(address)
                failures.append(f"{shown(address)}: {why}")
                continue
            self._failed.pop(address, None)
            return link
        if not failures:
            raise UpstreamError("no metastore to relay to is configured (upstream.url)")
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

    async def _connect(self, address: Address, opening: Sequence[bytes]) -> Link:
        loop = asyncio.get_running_loop()
        host, port = address
        _, link = await loop.create_connection(
            lambda: Link(address, self.settings.framed), host, port, ssl=self.settings.tls
        )
        try:
            for message in opening:
                taker = Collected()
                link.call(message, taker)
                await taker.reply
                if link.reply_kind != MessageType.REPLY:
                    raise UpstreamError("it refused the client's session settings")
        except BaseException:
            link.close()
            raise
        return link


def shown(address: Address) -> str:
    """The address as HOST:PORT."""
    return f"{address[0]}:{address[1]}"
