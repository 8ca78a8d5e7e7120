"""A connection to a metastore or to another worker."""

import asyncio
from secrets import token_bytes
from time import monotonic
from typing import Final, NamedTuple, Protocol, cast

from hive.errors import ThriftError, UpstreamError
from hive.reader.lost_hosts import notice_lost_host
from query_api.thrift.protocol.frames import FRAME_BYTES_MAX
from query_api.thrift.protocol.scanner import Scanner
from query_api.thrift.protocol.wire import MessageType, header
from query_api.thrift.sasl.mechanism import Layer

Address = tuple[str, int]


def host_port(address: Address) -> str:
    """The address as HOST:PORT."""
    return f"{address[0]}:{address[1]}"


class ReplyHandler(Protocol):
    """The receiver of a reply."""

    def piece(self, data: bytes, /) -> None:
        """Called with the next bytes of the reply."""

    def whole(self) -> None:
        """Called when the reply is complete."""

    def lost(self, why: str, /) -> None:
        """Called when the connection is lost before the reply is complete."""


class Link(asyncio.Protocol):
    """A connection to a metastore, which carries one call at a time."""

    def __init__(self, address: Address, layer: Layer | None = None) -> None:
        """`layer` is what its bytes travel in, if not as they are."""
        self.address: Final = address
        self.used_s = monotonic()
        """When it last began or ended a call."""
        self.layer: Final = layer
        self._scanner = Scanner(FRAME_BYTES_MAX)
        self._handler: ReplyHandler | None = None
        self._transport: asyncio.Transport | None = None

    @property
    def usable(self) -> bool:
        """Whether a call can be sent, as far as is known."""
        return self._transport is not None and not self._transport.is_closing()

    @property
    def is_busy(self) -> bool:
        """Whether a call is under way."""
        return self._handler is not None

    @property
    def reply_kind(self) -> int:
        """The type of the last reply, once its header has arrived."""
        return self._scanner.kind

    @property
    def reply_body_at(self) -> int:
        return self._scanner.body_at

    def answers(self, method: str, sequence: bytes) -> bool:
        """Whether the last reply is to a call of this method with this number."""
        return self._scanner.method == method and self._scanner.sequence == sequence

    def call(self, message: bytes, handler: ReplyHandler) -> None:
        """Sends a call, whose reply goes to the handler."""
        assert self._handler is None, "a call is under way"
        assert self._transport is not None
        self._handler = handler
        self.used_s = monotonic()
        self._transport.write(message if self.layer is None else self.layer.framed(message))

    def call_as_worker(self, method: str, arguments: bytes, handler: ReplyHandler) -> bytes:
        """Makes a call of the worker's own; returns its number, which `own_reply` needs."""
        # A client that calls over the same connection can't guess it, and so can't have caused
        # the reply to it.
        sequence = token_bytes(4)
        self.call(header(MessageType.CALL, method, sequence) + arguments, handler)
        return sequence

    def own_reply(self, method: str, sequence: bytes, data: bytes) -> "Reply":
        """The reply that has just arrived, to such a call. Raises UpstreamError if it is to another
        one.
        """
        if not self.answers(method, sequence):
            raise UpstreamError(f"it answers {method} by the reply to another call")
        return Reply(self.reply_kind, data[self.reply_body_at :])

    def pause(self) -> None:
        if self.usable:
            assert self._transport is not None
            self._transport.pause_reading()

    def resume(self) -> None:
        if self.usable:
            assert self._transport is not None
            self._transport.resume_reading()

    def close(self) -> None:
        self._handler = None
        assert self._transport is not None
        self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports aren't subclasses of asyncio's.
        self._transport = cast(asyncio.Transport, transport)
        notice_lost_host(transport.get_extra_info("socket"))

    def data_received(self, data: bytes) -> None:
        try:
            if self.layer is not None:
                data = self.layer.feed(data)
                if not data:
                    return
            handler = self._handler
            if handler is None:
                self._fail("it sent data without a call")
                return
            end = self._scanner.feed(data)
        except ThriftError as error:
            self._fail(f"its reply can't be read: {error}")
            return
        except UpstreamError as error:
            self._fail(str(error))
            return
        if end < 0:
            handler.piece(data)
            return
        self._handler = None
        self.used_s = monotonic()
        handler.piece(data if end == len(data) else data[:end])
        handler.whole()
        if end < len(data):
            self._fail("it sent more than one reply")

    def eof_received(self) -> None:
        self._fail("it hung up")

    def connection_lost(self, exc: Exception | None) -> None:
        self._fail(str(exc) if exc else "it hung up")

    def _fail(self, why: str) -> None:
        handler = self._handler
        self.close()
        if handler is not None:
            handler.lost(why)


class CollectedReply:
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


class Reply(NamedTuple):
    """A metastore's or worker's reply to a call of the worker's own."""

    kind: int
    body: bytes


async def ask(link: Link, method: str, arguments: bytes) -> Reply:
    """Makes a call of the worker's own. Raises UpstreamError if the connection is lost, or if what
    arrives is no reply to this call.
    """
    collected = CollectedReply()
    sequence = link.call_as_worker(method, arguments, collected)
    data = await collected.reply
    try:
        return link.own_reply(method, sequence, data)
    except UpstreamError:
        link.close()
        raise
