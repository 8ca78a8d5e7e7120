"""A response whose length may be unknown when it begins."""

from collections.abc import Iterable
from http import HTTPStatus
from typing import Protocol

Headers = Iterable[tuple[str, str]]
_CONTENT = b"content-type: application/x-thrift\r\n"
_CLOSE = b"connection: close\r\n"
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


class _Transport(Protocol):
    def write(self, data: bytes, /) -> None: ...


class Response:
    """Sends one reply. The first piece waits for the next one or for the end, so that a reply in
    one piece is sent at once, with its length.
    """

    def __init__(
        self, transport: _Transport, headers: Headers, *, has_chunks: bool, keeps_open: bool
    ) -> None:
        """`has_chunks` says whether the client understands chunks; else the end of the connection
        is that of a long reply.
        """
        self.keeps_open = keeps_open
        self.is_begun = False
        """Whether the client has been sent some of it."""
        self.first = b""
        self._transport = transport
        self._headers = _lines(headers)
        self._has_chunks = has_chunks

    def write(self, data: bytes) -> None:
        if not data:
            return
        if not self.is_begun:
            if not self.first:
                self.first = data
                return
            self.is_begun = True
            self.keeps_open &= self._has_chunks
            length = b"transfer-encoding: chunked\r\n" if self._has_chunks else b""
            self._transport.write(self._head(length) + self._chunk(self.first))
            self.first = b""
        self._transport.write(self._chunk(data))

    def finish(self) -> None:
        if self.is_begun:
            if self._has_chunks:
                self._transport.write(b"0\r\n\r\n")
            return
        self.is_begun = True
        length = b"content-length: %d\r\n" % len(self.first)
        self._transport.write(self._head(length) + self.first)

    def _head(self, length: bytes) -> bytes:
        close = b"" if self.keeps_open else _CLOSE
        return b"".join((b"HTTP/1.1 200 OK\r\n", _CONTENT, length, close, self._headers, b"\r\n"))

    def _chunk(self, data: bytes) -> bytes:
        return b"%x\r\n%b\r\n" % (len(data), data) if self._has_chunks else data


def refusal(status: HTTPStatus, why: str, headers: Headers = (), *, keeps_open: bool) -> bytes:
    """A whole response that says in plain text why there is no reply."""
    body = f"{why}\n".encode()
    return b"".join(
        (
            f"HTTP/1.1 {status.value} {status.phrase}\r\n".encode(),
            b"content-type: text/plain; charset=utf-8\r\n",
            b"content-length: %d\r\n" % len(body),
            b"" if keeps_open else _CLOSE,
            _lines(headers),
            b"\r\n",
            body,
        )
    )


def _lines(headers: Headers) -> bytes:
    return b"".join(f"{name}: {value}\r\n".encode() for name, value in headers)
