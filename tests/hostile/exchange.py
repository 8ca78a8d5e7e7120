"""Sends bytes that may be anything, and says what is wrong with how they are answered."""

import io
import json
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from enum import Enum
from http import HTTPStatus
from http.client import HTTPException, HTTPResponse
from itertools import starmap
from time import monotonic, sleep
from typing import Final, NamedTuple, Self

import httptools
from thriftpy2.thrift import TApplicationException
from thriftpy2.utils import deserialize

from hive.errors import ThriftError
from metatide.stack.machine import LOOPBACK
from query_api.http.connection import HEAD_BYTES_MAX
from query_api.thrift.connection.first_bytes import Transport, transport_of
from query_api.thrift.protocol.compact_reader import PROTOCOL, CompactReader
from query_api.thrift.protocol.frames import Frames
from query_api.thrift.protocol.scanner import STEPS_MAX, Scanner
from query_api.thrift.protocol.wire import MessageType

PATIENCE_S: Final = 30.0
_MESSAGE_BYTES_MAX: Final = 100 << 20
_UNABLE: Final = 503
COMPACT: Final = bytes((PROTOCOL,))


class Message(NamedTuple):
    """A whole Thrift message."""

    method: str
    kind: int
    sequence: bytes
    body: bytes


@contextmanager
def sent(port: int, data: bytes) -> Iterator[socket.socket]:
    """A connection on which these bytes were sent, as far as the server took them."""
    with socket.create_connection((LOOPBACK, port), timeout=PATIENCE_S) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        # If the server refuses the beginning, its answer may be there nevertheless.
        with suppress(BrokenPipeError, ConnectionResetError):
            connection.sendall(data)
        yield connection


def end_sending(connection: socket.socket) -> None:
    """Says that no more bytes come, unless the server has ended the connection by now."""
    with suppress(OSError):
        connection.shutdown(socket.SHUT_WR)


class ThriftPort:
    """The Thrift server of a worker."""

    def __init__(self, port: int, refused: Callable[[], int]) -> None:
        """`refused` gives the number of connections that the server's metrics say it ended."""
        self._port = port
        self._refused = refused
        self._ended = refused()

    def fault(self, data: bytes) -> str | None:
        """What is wrong with how these bytes are answered; None if nothing is."""
        calls, rest = thrift_messages(data)
        received = b""
        with sent(self._port, data) as connection:
            try:
                if not calls and rest is Rest.BEGUN:
                    end_sending(connection)
                while rest is Rest.UNREADABLE or not calls or _count(received) < len(calls):
                    block = connection.recv(1 << 20)
                    if not block:
                        break
                    received += block
            except TimeoutError:
                return f"no answer within {PATIENCE_S:g} s"
            except (ConnectionResetError, BrokenPipeError):
                pass
        replies, _ = thrift_messages(received)
        for call, reply in zip(calls, replies, strict=False):
            fault = _reply_fault(call, reply)
            if fault is not None:
                return fault
        if len(replies) == len(calls) and rest is not Rest.UNREADABLE:
            return None
        return self._fault_of_end()

    def _fault_of_end(self) -> str | None:
        deadline, before = monotonic() + PATIENCE_S, self._ended
        while (ended := self._refused()) == before:
            if monotonic() > deadline:
                return "the connection was ended, and isn't counted"
            sleep(0.005)
        self._ended = ended
        return None


class Rest(Enum):
    """What follows the last whole message."""

    NOTHING = 0
    BEGUN = 1
    """The server waits for its end."""
    UNREADABLE = 2


def thrift_messages(data: bytes) -> tuple[list[Message], Rest]:
    """The whole messages at the beginning, and what follows them."""
    try:
        data = _within(data)
    except ThriftError:
        return [], Rest.UNREADABLE
    scanner, at = Scanner(_MESSAGE_BYTES_MAX), 0
    messages: list[Message] = []
    try:
        while at < len(data):
            end = scanner.feed(data, at)
            if end < 0:
                return messages, Rest.BEGUN
            body = data[at + scanner.body_at : end]
            messages.append(Message(scanner.method, scanner.kind, scanner.sequence, body))
            at = end
    except ThriftError:
        return messages, Rest.UNREADABLE
    return messages, Rest.NOTHING if data else Rest.BEGUN


def _within(data: bytes) -> bytes:
    """What is in frames, and what is in the compact protocol in the binary one."""
    transport = transport_of(data) if data else None
    if transport is None:
        return b""
    if transport is Transport.FRAMED:
        data = Frames().feed(data)
    return CompactReader(_MESSAGE_BYTES_MAX, STEPS_MAX).feed(data) if data[:1] == COMPACT else data


def _count(received: bytes) -> int:
    return len(thrift_messages(received)[0])


def _reply_fault(call: Message, reply: Message) -> str | None:
    if (reply.method, reply.sequence) != (call.method, call.sequence):
        return f"{reply.method} answers {call.method}"
    if reply.kind not in (MessageType.REPLY, MessageType.EXCEPTION):
        return f"a reply of type {reply.kind}"
    if reply.kind == MessageType.EXCEPTION and not _reason(reply.body):
        return "an exception without a reason"
    return None


def _reason(body: bytes) -> str | None:
    reason: str | None = deserialize(TApplicationException(), body).message
    return reason


class Request:
    """One of the requests that a parser sees."""

    def __init__(self, method: str) -> None:
        self.method = method
        self.body = b""


class _Requests:
    """What a parser sees in the bytes of requests."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.is_whole = True
        self._parser = httptools.HttpRequestParser(self)

    def feed(self, data: bytes) -> None:
        self.is_whole = False
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            # The server refuses it, or doesn't care for what follows.
            self.is_whole = True

    def on_message_begin(self) -> None:
        self.is_whole = False

    def on_headers_complete(self) -> None:
        self.requests.append(Request(self._parser.get_method().decode()))

    def on_body(self, body: bytes) -> None:
        self.requests[-1].body += body

    def on_message_complete(self) -> None:
        self.is_whole = True


class _Responses(io.BufferedReader):
    """The bytes of a connection, which several responses share: none closes it for the next."""

    def __init__(self, connection: socket.socket) -> None:
        super().__init__(socket.SocketIO(connection, "r"))

    def makefile(self, _mode: str) -> Self:
        return self

    def close(self) -> None:
        """Leaves the connection to its opener."""


def http_fault(port: int, data: bytes) -> str | None:
    """What is wrong with how a worker answers HTTP; None if nothing is."""
    return _fault_of_responses(port, data, _problem_fault, answers_all=True)


def thrift_http_fault(port: int, data: bytes) -> str | None:
    """What is wrong with how a worker answers Thrift over HTTP; None if nothing is."""
    # What is sent before the last answer has come isn't read.
    return _fault_of_responses(port, data, _fault_over_http, answers_all=False)


def _fault_of_responses(
    port: int,
    data: bytes,
    fault_of: Callable[[HTTPResponse, Request, bytes], str | None],
    *,
    answers_all: bool,
) -> str | None:
    requests = _Requests()
    requests.feed(data)
    with sent(port, data) as connection:
        if not requests.is_whole:
            end_sending(connection)
        responses = _Responses(connection)
        for number, request in enumerate(requests.requests or [Request("GET")]):
            response = HTTPResponse(responses, method=request.method)  # type: ignore[arg-type]
            try:
                response.begin()
                body = response.read()
            except TimeoutError:
                return f"no answer within {PATIENCE_S:g} s"
            except (HTTPException, ConnectionResetError) as error:
                # What the server didn't read makes the system reset the connection, and that may
                # overtake the answer.
                is_reset = isinstance(error, ConnectionResetError) and len(data) > HEAD_BYTES_MAX
                is_unread = number > 0 and not answers_all
                is_right = is_reset or is_unread or not requests.is_whole
                return None if is_right else f"no answer: {error!r}"
            fault = fault_of(response, request, body)
            if fault is not None:
                return fault
            if response.will_close:
                break
    return None


def _problem_fault(response: HTTPResponse, request: Request, body: bytes) -> str | None:
    if response.status < 400:
        return None
    if response.status >= 500 and response.status != _UNABLE:
        return f"status {response.status}: {body[:300]!r}"
    if request.method == "HEAD":
        return None
    if response.getheader("content-type") != "application/problem+json":
        return f"status {response.status} with {response.getheader('content-type')}"
    problem = json.loads(body)
    if problem["status"] != response.status or not problem["detail"]:
        return f"status {response.status} with {problem}"
    return None


def _fault_over_http(response: HTTPResponse, request: Request, body: bytes) -> str | None:
    content = response.getheader("content-type")
    if response.status == HTTPStatus.OK:
        calls, replies = thrift_messages(request.body)[0], thrift_messages(body)
        if content != "application/x-thrift" or (body and replies[1] is not Rest.NOTHING):
            return f"status 200 with {content}: {body[:300]!r}"
        pairs = zip(calls, replies[0], strict=False)
        return next(filter(None, starmap(_reply_fault, pairs)), None)
    if response.status == HTTPStatus.INTERNAL_SERVER_ERROR or response.status < 400:
        return f"status {response.status}: {body[:300]!r}"
    if request.method == "HEAD" or (content == "text/plain; charset=utf-8" and body.strip()):
        return None
    return f"status {response.status} with {content}: {body[:300]!r}"


def port_fault(port: int, data: bytes) -> str | None:
    """What is wrong with how a connector's port answers; None if nothing is."""
    received = b""
    with sent(port, data) as connection:
        try:
            end_sending(connection)
            while block := connection.recv(1 << 20):
                received += block
        except TimeoutError:
            return f"no answer within {PATIENCE_S:g} s"
        except OSError:
            # It was closed before all was read.
            return None
    return f"{received[:300]!r}" if received.split()[1:2] == [b"500"] else None
