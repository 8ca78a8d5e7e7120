"""A negotiation as the client has it: one mechanism, and the frames of `TSaslTransport`."""

import asyncio
from typing import Final, NamedTuple, Protocol

from hive.errors import MetastoreLoginError, UpstreamError
from query_api.thrift.sasl.mechanism import Layer
from query_api.thrift.sasl.negotiation import HEAD, RESPONSE_BYTES_MAX, ROUNDS_MAX, Status, frame

TEXT_CHARS_MAX: Final = 300
"""How much is shown of what a metastore says of a login."""


class Response(NamedTuple):
    """What a mechanism responds to a challenge."""

    data: bytes
    is_last: bool = False


class Exchange(Protocol):
    """One login by a mechanism."""

    @property
    def mechanism(self) -> str: ...

    async def answer(self, challenge: bytes, /) -> Response:
        """Responds to a challenge; the first is empty. Raises UpstreamError."""
        ...

    def finish(self, data: bytes, /) -> Layer:
        """What the bytes travel in after the login. `data` came with its end. Raises UpstreamError
        if the metastore hasn't proved what it should.
        """
        ...


class SaslFrames:
    """The frames of a metastore."""

    def __init__(self, reader: asyncio.StreamReader, transport: asyncio.WriteTransport) -> None:
        self._reader = reader
        self._transport = transport

    def send(self, status: Status, data: bytes) -> None:
        self._transport.write(frame(status, data))

    async def receive(self) -> tuple[int, bytes]:
        """Its next frame. Raises UpstreamError if it refuses the login or speaks no SASL."""
        try:
            status, size = HEAD.unpack(await self._reader.readexactly(HEAD.size))
            if not 0 <= size <= RESPONSE_BYTES_MAX:
                raise UpstreamError("it doesn't speak SASL: what it sent is no frame")
            data = await self._reader.readexactly(size)
        except asyncio.IncompleteReadError:
            raise UpstreamError("it hung up on a login: it may not speak SASL") from None
        if status in (Status.BAD, Status.ERROR):
            text = data.decode(errors="replace")[:TEXT_CHARS_MAX]
            raise MetastoreLoginError(f"it refuses the login: {text!r}")
        if status not in (Status.OK, Status.COMPLETE):
            raise UpstreamError(f"it doesn't speak SASL: a frame with status {status}")
        return status, data


async def log_in(frames: SaslFrames, exchange: Exchange) -> Layer:
    """Logs in; returns what the bytes travel in from then on. Raises UpstreamError."""
    response = await exchange.answer(b"")
    frames.send(Status.START, exchange.mechanism.encode())
    for _ in range(ROUNDS_MAX):
        frames.send(Status.COMPLETE if response.is_last else Status.OK, response.data)
        status, data = await frames.receive()
        if status == Status.COMPLETE:
            return exchange.finish(data)
        response = await exchange.answer(data)
    raise UpstreamError(f"its login takes more than {ROUNDS_MAX} rounds")
