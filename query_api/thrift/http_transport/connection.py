"""One client's connection of HTTP: takes requests, one after the other, and sends the replies."""

import asyncio
from abc import abstractmethod
from enum import IntEnum
from http import HTTPStatus
from typing import Final, cast

import httptools
import structlog

from hive.errors import ForbiddenError, RefusedLoginError
from query_api.in_flight import LARGE_BYTES, TOO_MANY_BYTES, Budget
from query_api.own_hosts import is_loopback
from query_api.thrift.connection.flow_control import FlowControl
from query_api.thrift.http_transport.request import Request, too_large
from query_api.thrift.http_transport.response import CONTINUE, Headers, Response, refusal
from query_api.thrift.http_transport.scheme import Remembered, Scheme, credentials_of
from query_api.thrift.http_transport.session import Session
from query_api.thrift.sasl.mechanism import TOKEN, Identity
from query_api.thrift.settings import ThriftSettings

HEAD_BYTES_MAX: Final = 64 * 1024
"""The limit on a request's head, on its trailers, and on each line before a chunk of its body."""
DISCARDED_BYTES_MAX: Final = 1 << 20
"""How much of a refused request is still read, so that the client gets to see the refusal."""
_STATUSES: Final = {
    "protocol": HTTPStatus.BAD_REQUEST,
    "limit": HTTPStatus.SERVICE_UNAVAILABLE,
    "slow": HTTPStatus.REQUEST_TIMEOUT,
    "failed": HTTPStatus.INTERNAL_SERVER_ERROR,
    "closing": HTTPStatus.SERVICE_UNAVAILABLE,
    "stranger": HTTPStatus.FORBIDDEN,
}

log = structlog.get_logger(__name__)


class _State(IntEnum):
    HEAD = 0
    """Between two requests, or within the head of one."""
    BODY = 1
    """The head is read; the body or the check of credentials isn't complete."""
    ANSWERING = 2
    """A call is under way."""
    DISCARDING = 3
    """The request is refused; the rest of it isn't kept."""
    CLOSED = 4


class HttpConnection(asyncio.Protocol):
    """The requests of one client.

    1. Each request holds one call, and proves by itself who sends it.
    2. Calls of the same user on a connection are handled as those of one client; of another user,
       as those of another client.
    3. A request that comes before the last one is answered ends the connection after that answer.
    """

    transport: asyncio.Transport

    def __init__(self, settings: ThriftSettings, budget: Budget) -> None:
        self.session: Session | None = None
        self.client_address = ""
        self._is_local = False
        """Whether the client is on this machine."""
        self.ended: str | None = None
        """The reason in a word, if this side ended the connection."""
        self.why = ""
        """The same in a sentence."""
        self._settings = settings
        self._received = budget.share(self._make_room)
        self._flow = FlowControl()
        self._parser = httptools.HttpRequestParser(self)
        self._state = _State.HEAD
        self._request = Request()
        self._body: list[bytes] = []
        self._body_bytes = self._line_bytes = 0
        self._is_whole = self._keeps_open = self._is_pipelined = False
        self._identity: Identity | None = None
        """Who sends this request."""
        self._session_of: Identity | None = None
        self._login: asyncio.Task[None] | None = None
        self._remembered = Remembered()
        self._headers: Headers = ()
        self._response: Response | None = None

    @abstractmethod
    def begin_session(self, identity: Identity) -> Session:
        """What handles the calls of a client."""

    @abstractmethod
    def refused(self, kind: str, why: str) -> None:
        """Called for each request that isn't answered."""

    def end(self, kind: str, why: str) -> None:
        """Closes the connection."""
        if self._state is _State.CLOSED:
            return
        self.ended, self.why = kind, why
        status = _STATUSES.get(kind, HTTPStatus.BAD_GATEWAY)
        if self._state is _State.ANSWERING and self._response is not None:
            if self._response.is_begun:
                self._close(at_once=True)
                return
        elif self._state is _State.DISCARDING or not self._request.url:
            self._close(at_once=True)
            return
        self.transport.write(refusal(status, why, keeps_open=False))
        self._close()

    def finish(self, kind: str, why: str) -> None:
        """Closes the connection once the request under way is answered."""
        if self._state is _State.ANSWERING and self._response is not None:
            self.ended, self.why = kind, why
            self._response.keeps_open = self._keeps_open = False
        elif self._state is _State.HEAD and not self._request.url:
            self.ended, self.why = kind, why
            self._close()
        else:
            self.end(kind, why)

    def abort(self) -> None:
        self.transport.abort()

    def check(self, now: float) -> None:
        """Ends the connection if it makes no progress; called every few seconds."""
        if self.session is not None:
            self.session.check(now)
        if not self._flow.is_stuck(now, self._settings.message_timeout_s):
            return
        if self._state is _State.CLOSED:
            self.transport.abort()
        else:
            self.end("slow", "the client took too long to send a request")

    # Called by the event loop.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports aren't subclasses of asyncio's.
        self.transport = self._flow.transport = cast(asyncio.Transport, transport)
        # Without a low mark, `resume_writing` means that nothing is buffered any more.
        self.transport.set_write_buffer_limits(high=LARGE_BYTES, low=0)
        peer = transport.get_extra_info("peername")
        self.client_address = f"{peer[0]}:{peer[1]}" if peer else ""
        self._is_local = bool(peer) and is_loopback(peer[0])
        self._flow.start_clock()

    def data_received(self, data: bytes) -> None:
        if self._state is _State.CLOSED:
            return
        if self._state is _State.ANSWERING or self._is_whole:
            self._is_pipelined = True
            self._flow.pause_reading()
            return
        if self._state is _State.HEAD and not self._line_bytes:
            self._flow.start_clock()
        self._line_bytes += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self._refuse_and_close(HTTPStatus.BAD_REQUEST, "only calls by POST are answered here")
        except httptools.HttpParserError as error:
            self._refuse_and_close(HTTPStatus.BAD_REQUEST, f"this is no request of HTTP: {error}")
        else:
            if self._line_bytes > HEAD_BYTES_MAX and not self._is_whole:
                self._refuse_long_head()
            elif self._state is _State.HEAD:
                self._received.set(self._line_bytes)
        self._go_on()

    def pause_writing(self) -> None:
        if self.session is not None:
            self.session.pause_writing()

    def resume_writing(self) -> None:
        if self.session is not None:
            self.session.resume_writing()

    def connection_lost(self, error: Exception | None) -> None:
        self._state = _State.CLOSED
        self._flow.stop_clock()
        self._received.set(0)
        self._body.clear()
        self._end_login()
        self._end_session()
        # It refers to this connection: a cycle would wait for the garbage collection.
        del self._parser

    # Called by the parser.

    def on_message_begin(self) -> None:
        if self._state is _State.HEAD:
            self._request = Request()
        else:
            self._is_pipelined = True

    def on_url(self, url: bytes) -> None:
        if self._state is _State.HEAD:
            self._request.url += url
            self._request.head_bytes += len(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._state is _State.HEAD:
            self._request.add(name, value)

    def on_headers_complete(self) -> None:
        if self._state is not _State.HEAD:
            return
        self._line_bytes = 0
        self._received.set(0)
        self._state = _State.BODY
        request, bytes_max = self._request, self._settings.message_bytes_max
        method = self._parser.get_method()
        # What answers HEAD has no body, so a refusal would be taken for the next response.
        self._keeps_open = self._parser.should_keep_alive() and method == b"POST"
        if request.head_bytes > HEAD_BYTES_MAX:
            self._refuse_long_head()
            return
        fault = request.fault(method, self._settings.http.path, bytes_max)
        if fault is not None:
            self._refuse(*fault)
        else:
            self._identify()

    def on_chunk_header(self) -> None:
        self._line_bytes = 0

    def on_body(self, body: bytes) -> None:
        # What remains is the lines before chunks, and trailers.
        self._line_bytes = max(0, self._line_bytes - len(body))
        if self._state not in (_State.BODY, _State.DISCARDING) or self._is_pipelined:
            return
        self._body_bytes += len(body)
        if self._state is _State.DISCARDING:
            if self._body_bytes > DISCARDED_BYTES_MAX:
                self._close()
        elif self._body_bytes > self._settings.message_bytes_max:
            bytes_max = self._settings.message_bytes_max
            self._refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, too_large(bytes_max))
        else:
            self._body.append(body)
            self._received.add(len(body))

    def on_message_complete(self) -> None:
        if self._state in (_State.BODY, _State.DISCARDING) and not self._is_pipelined:
            self._is_whole = True

    # Logins.

    def _identify(self) -> None:
        """Finds out who sends the request, at once or by a task."""
        request, schemes = self._request, self._settings.http.schemes
        if not schemes:
            self._identify_by_claim()
            return
        header = request.headers.get(b"authorization")
        if header is not None:
            self._identity = self._remembered.get(header)
        if self._identity is None:
            self._flow.pause_reading()
            self._login = asyncio.get_running_loop().create_task(self._log_in(header))

    def _identify_by_claim(self) -> None:
        """Believes a client who it says that it is, unless a page in a browser could say so."""
        request = self._request
        try:
            self._settings.http.own_hosts.require(
                request.headers.get(b"host", b""),
                is_local=self._is_local,
                otherwise="have clients log in",
            )
            user = request.actor()
        except ForbiddenError as error:
            self._refuse(HTTPStatus.FORBIDDEN, str(error))
        except ValueError as error:
            self._refuse(HTTPStatus.BAD_REQUEST, f"x-actor-username {error}")
        else:
            if user:
                self._identity = Identity(user, "")
            else:
                why = "the header x-actor-username must name the user, as at a metastore"
                self._refuse(HTTPStatus.UNAUTHORIZED, why)

    async def _log_in(self, header: bytes | None) -> None:
        schemes = self._settings.http.schemes
        scheme: Scheme | None = None
        try:
            credentials = credentials_of(header, schemes)
            scheme = schemes[credentials.scheme]
            proof = await scheme.check(credentials.value)
        except RefusedLoginError as error:
            self._login = None
            self._refuse_login("unauthenticated" if header is None else "login", error, scheme)
        except Exception as error:
            self._login = None
            log.error("a login failed", client=self.client_address, exc_info=error)
            self.end("failed", "an unexpected fault")
        else:
            self._login = None
            self._identity = Identity(proof.user, scheme.kind, proof.principal)
            if proof.answer:
                # Without the second one, clients would send no more tickets on this connection.
                answer = f"{credentials.scheme.title()} {proof.answer}"
                self._headers = (("www-authenticate", answer), ("persistent-auth", "false"))
            if header is not None and proof.valid_s:
                self._remembered.put(header, self._identity, proof.valid_s)
        self._flow.resume_reading()
        self._go_on()

    def _end_login(self) -> None:
        login, self._login = self._login, None
        if login is not None:
            login.cancel()

    def _refuse_login(self, kind: str, error: RefusedLoginError, tried: Scheme | None) -> None:
        challenges = [
            ("www-authenticate", scheme.challenge(str(error) if scheme is tried else ""))
            for scheme in self._settings.http.schemes.values()
        ]
        self.refused(kind, error.details)
        self._refuse(HTTPStatus.UNAUTHORIZED, str(error), challenges, counts=False)

    # A request's end.

    def _go_on(self) -> None:
        """Begins the call once the request is whole, and goes on to the next when it is refused."""
        if self._state is _State.BODY and self._identity is not None:
            if self._is_whole:
                self._answer(self._identity)
            elif self._request.waits_to_continue:
                self._request.headers.pop(b"expect")
                self.transport.write(CONTINUE)
        elif self._state is _State.DISCARDING and self._is_whole:
            self._await_next()

    def _answer(self, identity: Identity) -> None:
        """Hands the call over."""
        body = b"".join(self._body)
        self._body.clear()
        self._received.set(0)
        self._flow.stop_clock()
        if not body:
            self._refuse(HTTPStatus.BAD_REQUEST, "the request has no body: it is to be a call")
            self._await_next()
            return
        self._state = _State.ANSWERING
        session = self.session
        if session is None or self._session_of != identity:
            self._end_session()
            session = self.session = self.begin_session(identity)
            self._session_of = identity
        self._response = Response(
            self.transport,
            self._headers,
            has_chunks=self._parser.get_http_version() == "1.1",
            keeps_open=self._keeps_open and not self._is_pipelined,
        )
        session.trace_headers = self._request.trace_headers
        if identity.kind == TOKEN:
            session.authorization = self._request.headers[b"authorization"]
        session.data_received(body)
        if session.is_idle:
            # A cached reply changes no state.
            self.rested()

    def _await_next(self) -> None:
        keeps_open = self._keeps_open and not self._is_pipelined
        self._request = Request()
        self._identity, self._response, self._headers = None, None, ()
        self._body_bytes = self._line_bytes = 0
        self._is_whole = False
        if keeps_open:
            self._state = _State.HEAD
            self._flow.stop_clock()
        else:
            self._close()

    # Called by the session.

    def reply(self, data: bytes) -> None:
        if self._state is _State.ANSWERING and self._response is not None:
            self._response.write(data)

    def rested(self) -> None:
        session, response = self.session, self._response
        if self._state is not _State.ANSWERING or session is None or response is None:
            return
        if session.has_partial_call:
            self._end_session()
            self._refuse(HTTPStatus.BAD_REQUEST, "the body is to be one whole call")
        else:
            response.finish()
            self._keeps_open &= response.keeps_open
        self._await_next()

    def call_ended(self) -> None:
        session, response = self.session, self._response
        assert session is not None
        if self._state is _State.CLOSED:
            return
        if response is not None and (response.first or session.ended is None):
            # A last reply that says why, or none to a client that wants no more.
            self.ended, self.why = session.ended, session.why
            response.keeps_open = False
            response.finish()
            self._close()
        else:
            self.call_broke_off()

    def call_broke_off(self) -> None:
        assert self.session is not None
        self.end(self.session.ended or "failed", self.session.why)

    # Refusals.

    def _refuse(
        self, status: HTTPStatus, why: str, headers: Headers = (), *, counts: bool = True
    ) -> None:
        """Sends a refusal; the rest of the request is read and forgotten."""
        self._body.clear()
        self._received.set(0)
        self._state = _State.DISCARDING
        if counts:
            self.refused("protocol", why)
        if self._request.waits_to_continue:
            # The client needn't send the body.
            self._keeps_open = False
        keeps_open = self._keeps_open and not self._is_pipelined
        self.transport.write(refusal(status, why, headers, keeps_open=keeps_open))

    def _refuse_and_close(self, status: HTTPStatus, why: str) -> None:
        if self._state in (_State.HEAD, _State.BODY):
            self._keeps_open = False
            self._refuse(status, why)
        self._close()

    def _refuse_long_head(self) -> None:
        why = f"a request's head has more than {HEAD_BYTES_MAX} bytes"
        self._refuse_and_close(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, why)

    def _make_room(self) -> None:
        """Ends the connection, because too many bytes are in flight."""
        self.end("limit", TOO_MANY_BYTES)

    def _end_session(self) -> None:
        session, self.session = self.session, None
        if session is not None:
            session.connection_lost(None)

    def _close(self, *, at_once: bool = False) -> None:
        if self._state is _State.CLOSED:
            return
        self._state = _State.CLOSED
        self._received.set(0)
        self._body.clear()
        self._end_login()
        if at_once:
            self.transport.abort()
        else:
            self.transport.close()
            self._flow.start_clock()
