"""Calls as the bodies of requests of HTTP, for metastores that speak Thrift over HTTP."""

from collections.abc import Callable
from typing import Final
from weakref import proxy

import httptools

from hive.errors import ThriftError, UpstreamError
from query_api.thrift.metastore.link import Address, host_port

HEAD_BYTES_MAX: Final = 64 * 1024
"""How much may arrive at a time without any of a body."""
SHOWN_BYTES_MAX: Final = 300
_OK: Final = 200


class HttpLayer:
    """The requests and responses on one connection, of one user. Metastores that want a token are
    shown it with each request, since it may have been renewed in the meantime; others are told the
    user's name.
    """

    held_bytes: Final = 0
    """What is received is passed on at once."""

    def __init__(
        self,
        address: Address,
        path: str,
        user: str,
        authorization: Callable[[], bytes] | None = None,
    ) -> None:
        """Raises UpstreamError if the user's name can't be sent."""
        if not user.isprintable():
            raise UpstreamError("the user's name can't be sent in a header of HTTP")
        self._authorization = authorization
        actor = "" if authorization else f"x-actor-username: {user}\r\n"
        self._head = (
            f"POST {path} HTTP/1.1\r\nhost: {host_port(address)}\r\n{actor}"
            "accept: application/x-thrift\r\ncontent-type: application/x-thrift\r\n"
        ).encode()
        self.trace_headers = b""
        """Lines of the heads of requests that say whose trace these belong to."""
        self._parser = httptools.HttpResponseParser(_Callbacks(proxy(self)))
        self._parts: list[bytes] = []
        self._refusal = b""
        self._refused_by = 0
        self._head_bytes = 0

    def framed(self, data: bytes, more: bytes = b"") -> bytes:
        """A request with this call."""
        head, size = self._head + self.trace_headers, len(data) + len(more)
        if self._authorization is not None:
            head += b"authorization: %b\r\n" % self._authorization()
        return b"%bcontent-length: %d\r\n\r\n%b%b" % (head, size, data, more)

    def feed(self, data: bytes) -> bytes:
        """What these bytes hold of replies. Raises ThriftError, and UpstreamError if a request is
        refused.
        """
        self._head_bytes += len(data)
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            raise ThriftError(f"this is no response of HTTP: {error}") from error
        if self._refused_by:
            why = self._refusal.decode(errors="replace")
            raise UpstreamError(f"it answers {self._refused_by}: {why!r}")
        if self._head_bytes > HEAD_BYTES_MAX:
            raise ThriftError(f"the head of a response has more than {HEAD_BYTES_MAX} bytes")
        body = b"".join(self._parts)
        self._parts.clear()
        return body

    # Called by the parser.

    def on_body(self, body: bytes) -> None:
        self._head_bytes = 0
        if self._parser.get_status_code() == _OK:
            self._parts.append(body)
        else:
            self._refusal = (self._refusal + body)[:SHOWN_BYTES_MAX]

    def on_message_complete(self) -> None:
        self._head_bytes = 0
        status = self._parser.get_status_code()
        if status != _OK:
            self._refused_by = status


class _Callbacks:
    """What the parser calls. A parser that kept its layer alive would be in a cycle with it, which
    also keeps the client whose token the layer shows.
    """

    def __init__(self, layer: HttpLayer) -> None:
        self._layer = layer

    def on_body(self, body: bytes) -> None:
        self._layer.on_body(body)

    def on_message_complete(self) -> None:
        self._layer.on_message_complete()
