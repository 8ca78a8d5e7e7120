"""One client's connection: uvicorn's, with limits and a fast path for cached answers.

The fast path serves a request whose bytes are exactly those of an earlier one, without parsing it
or starting a task. The parser has seen that those bytes were exactly one request; everything else
is parsed.
"""

import asyncio
import socket
from functools import partial
from struct import pack
from typing import Any, Final, cast

import structlog
import uvicorn
from uvicorn._types import ASGI3Application
from uvicorn.protocols.http.httptools_impl import (
    STATUS_LINE,
    HttpToolsProtocol,
    RequestResponseCycle,
)
from uvicorn.server import ServerState

from hive.errors import TooLargeError
from query_api.http.app_state import AppState
from query_api.http.counting_transport import CountingTransport
from query_api.http.gate import is_this_machine
from query_api.http.messages import problem
from query_api.http.response_cache import RawResponse
from query_api.in_flight import LARGE_BYTES, TOO_MANY_BYTES, Untaken
from query_api.latest.log_end import LogEnd
from query_api.positions import Position

CONNECTIONS_MAX: Final = 10_000
HEAD_BYTES_MAX: Final = 64 * 1024
"""The limit on a request's head, on its trailers, and on each line before a chunk of its body."""
HEADERS_MAX: Final = 256
"""The number of headers and trailers of a request that arrives in several pieces."""
PIPELINED_MAX: Final = 64
"""The number of requests of one client that may wait for the responses before theirs."""
REQUEST_S_MAX: Final = 20
"""The time limit for a request after its first byte, and for that byte after connecting."""
STUCK_S_MAX: Final = 30
"""A response is given up if the client takes none of it for this long."""
_ENDS: Final = "the server is shutting down: retry, or ask another worker"
_RETRY_AFTER: Final = b"retry-after: 1\r\n"
_LONG_HEAD: Final = f"a request's head has more than {HEAD_BYTES_MAX} bytes"
_MANY_REQUESTS: Final = f"more than {PIPELINED_MAX} requests wait for their responses"
_NO_LINGERING: Final = pack("ii", 1, 0)
_WAITING_BYTES: Final = 4096
"""About what a request takes that waits for the responses before its own."""

log = structlog.get_logger(__name__)


class ReadConnection(HttpToolsProtocol):
    """One connection."""

    def __init__(
        self,
        config: uvicorn.Config,
        server_state: ServerState,
        app_state: AppState,
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, cast(dict[str, Any], app_state), _loop)
        self._response_cache = app_state.get("response_cache")
        self._log_end_reads = app_state.get("log_end_reads")
        self._recent = app_state.get("recent")
        self._gate = app_state.get("gate")
        self._is_local = False
        self._backlog: list[bytes] | None = None
        self._is_ending = False
        self._answering: RequestResponseCycle | None = None
        """The last response that was begun. Those to later requests wait in the pipeline."""
        self._begun = self._completed = 0
        self._head_bytes = self._data_bytes = 0
        self._has_head = self._has_body = self._was_cached = False
        self._late_s = self._stuck_s = 0.0
        self._unsent = 0
        self._refusal: tuple[int, str] | None = None
        """The last response, which is sent once earlier requests are answered."""
        budget = app_state["in_flight"]
        self._received = budget.share(self._make_room)
        self._untaken = Untaken(budget.share(self._make_room))

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        # Without a low mark, `resume_writing` means that nothing is buffered any more.
        transport.set_write_buffer_limits(high=LARGE_BYTES, low=0)
        self._write_small = transport.write
        counting = CountingTransport(transport, self._untaken)
        super().connection_made(cast(asyncio.Transport, counting))
        self._is_local = is_this_machine({"client": self.client})
        if len(self.connections) > CONNECTIONS_MAX:
            transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._disconnect()
        self._received.set(0)
        self._untaken.update(0)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._untaken.update(self.transport.get_write_buffer_size())

    def resume_writing(self) -> None:
        super().resume_writing()
        self._untaken.update(0)

    def data_received(self, data: bytes) -> None:
        if self._refusal is not None:
            return
        if self._backlog is not None:
            self._backlog.append(data)
            self._received.add(len(data))
            self.flow.pause_reading()
        elif self._begun != self._completed or not self._answer_from_cache(data):
            self._receive(data)

    def _receive(self, data: bytes, **state: LogEnd | None) -> None:
        """Has the parser handle bytes from the client. `state` contains what the database said for
        this request, if it was asked.
        """
        begun = self._begun
        is_between = begun == self._completed
        self._head_bytes += len(data)
        self._data_bytes = len(data)
        super().data_received(data)
        if self._begun == self._completed:
            if is_between and self._begun == begun + 1 and not self._has_body:
                self.scope["state"].update(state, head=data)
        elif self._head_bytes > HEAD_BYTES_MAX:
            long_trailers = f"a request's trailers have more than {HEAD_BYTES_MAX} bytes"
            self._refuse(431, long_trailers if self._has_head else _LONG_HEAD)
        elif len(self.headers) > HEADERS_MAX:
            self._refuse(431, f"a request has more than {HEADERS_MAX} headers and trailers")
        elif not self._has_head:
            self._received.set(self._head_bytes)

    def on_message_begin(self) -> None:
        self._begun += 1
        self._has_head = self._has_body = False
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        # One delivery may hold a whole head, or the ends of one and of others before it.
        can_be_long = max(self._head_bytes, self._data_bytes) > HEAD_BYTES_MAX
        self._head_bytes = 0
        if can_be_long and self._bytes_of_head() > HEAD_BYTES_MAX:
            self._refuse(431, _LONG_HEAD)
            # The parser stops where a callback fails.
            raise TooLargeError(_LONG_HEAD)
        self._has_head = True
        if len(self.pipeline) >= PIPELINED_MAX:
            self._refuse(400, _MANY_REQUESTS)
            raise TooLargeError(_MANY_REQUESTS)
        super().on_headers_complete()
        if self.pipeline:
            self._received.add(_WAITING_BYTES)

    def on_chunk_header(self) -> None:
        self._head_bytes = 0

    def on_body(self, body: bytes) -> None:
        self._has_body = True
        # What remains is the lines before chunks, and trailers.
        self._head_bytes -= len(body)
        if not self.cycle.response_complete:
            self._received.add(len(body))
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._completed += 1
        self._head_bytes = 0
        super().on_message_complete()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        self._answering = cycle
        super()._start_asgi_task(cycle, app)

    def send_400_response(self, msg: str) -> None:
        if not self.transport.is_closing():
            self._refuse(400, msg)

    def on_response_complete(self) -> None:
        is_last = not self.pipeline
        self._received.set(len(self.pipeline) * _WAITING_BYTES)
        super().on_response_complete()
        if self._refusal is not None and is_last:
            self._send_refusal(*self._refusal)

    def timeout_keep_alive_handler(self) -> None:
        if self._was_cached or self._backlog is not None:
            self._was_cached = False
            self.timeout_keep_alive_task = self.loop.call_later(
                self.timeout_keep_alive, self.timeout_keep_alive_handler
            )
        else:
            super().timeout_keep_alive_handler()

    def shutdown(self) -> None:
        # What waits for the database on the fast path is a request that has begun, too.
        self._is_ending = True
        if self._backlog is None:
            super().shutdown()

    def give_up(self) -> None:
        """Refuses what isn't answered by now, and leaves whoever takes nothing, or never ends
        TLS."""
        if self.transport.is_closing():
            self.transport.abort()
        else:
            self._backlog = None
            self._refuse(503, _ENDS, at_once=True)

    def sweep(self, passed_s: float) -> None:
        """Ends the connection if its client is too slow; called every `passed_s` seconds."""
        unsent = self.transport.get_write_buffer_size()
        self._stuck_s = self._stuck_s + passed_s if unsent and unsent == self._unsent else 0
        self._unsent = unsent
        self._untaken.update(unsent)
        is_late = not self._begun or self._begun != self._completed
        self._late_s = self._late_s + passed_s if is_late else 0
        if self._stuck_s >= STUCK_S_MAX:
            self._hang_up()
        elif self._late_s >= REQUEST_S_MAX and not self.transport.is_closing():
            self._refuse(408, f"no complete request arrived within {REQUEST_S_MAX} s")

    def _answer_from_cache(self, data: bytes) -> bool:
        if self._response_cache is None or self._is_answering():
            return False
        assert self._gate is not None
        assert self._log_end_reads is not None
        assert self._recent is not None
        if self.flow.write_paused or self.transport.is_closing():
            return False
        raw = self._response_cache.by_head(data)
        if raw is None or not self._gate.admits(raw.admission, is_local=self._is_local):
            return False
        # This counts as a whole request, although nothing has parsed it.
        self._begun = self._completed = max(1, self._begun)
        if not raw.needs_log_end:
            self._write(raw, raw.cached.reached)
        elif (log_end := raw.cached.confirmed_by(self._recent)) is not None:
            self._write(raw, _position(raw, log_end))
        elif not raw.cached.may_wait:
            return False
        else:
            self._backlog = []
            reached = self._response_cache.log_from(raw.cached)
            self._log_end_reads.ask(reached, partial(self._answer_if_confirmed, data, raw))
        return True

    def _answer_if_confirmed(self, data: bytes, raw: RawResponse, log_end: LogEnd | None) -> None:
        backlog, self._backlog = self._backlog, None
        self._received.set(0)
        if backlog is None or self.transport.is_closing():
            return
        assert self._response_cache is not None
        # The read may have shown another history of the database, which drops the answer.
        is_cached = self._response_cache.by_head(data) is raw
        if log_end is not None and is_cached and raw.cached.confirm(log_end):
            self._write(raw, _position(raw, log_end))
        else:
            self._receive(data, log_end=log_end)
        if self._is_ending:
            super().shutdown()
            return
        self.flow.resume_reading()
        for more in backlog:
            self.data_received(more)

    def _write(self, raw: RawResponse, position: Position) -> None:
        parts = [STATUS_LINE[raw.status]]
        for name, value in self.server_state.default_headers:
            parts += (name, b": ", value, b"\r\n")
        parts += (raw.before, str(position).encode(), raw.after, raw.body)
        response = b"".join(parts)
        if len(response) > LARGE_BYTES:
            self.transport.write(response)
        else:
            self._write_small(response)
        raw.cached.count()
        self._was_cached = True

    def _bytes_of_head(self) -> int:
        line = len(self.parser.get_method()) + len(self.url) + len("  HTTP/1.1\r\n\r\n")
        return line + sum(len(name) + len(value) + 4 for name, value in self.headers)

    def _is_answering(self) -> bool:
        response = self._answering
        return response is not None and not response.response_complete

    def _disconnect(self) -> None:
        """Has the application's response go nowhere."""
        if self._answering is not None:
            self._answering.disconnected = True
            self._answering.message_event.set()

    def _make_room(self) -> None:
        """Ends the connection, because too many bytes are in flight."""
        if self not in self.connections:
            return
        log.info("a client's connection was ended", client=self.client, why=TOO_MANY_BYTES)
        if self.transport.get_write_buffer_size():
            self._hang_up()
        else:
            self._refuse(503, TOO_MANY_BYTES, at_once=True)

    def _hang_up(self) -> None:
        # Without this, the system would go on sending what it has buffered.
        connected = self.transport.get_extra_info("socket")
        connected.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGERING)
        self.transport.abort()

    def _refuse(self, status: int, detail: str, *, at_once: bool = False) -> None:
        """Sends an error and closes the connection, after the responses to earlier requests unless
        it is `at_once`. If the response to this request has begun, only closes the connection.
        """
        if self._refusal is not None and not at_once:
            # Whatever follows from the first one says less.
            return
        self._refusal = status, detail
        response = self._answering
        has_response = self._has_head and self._begun != self._completed
        if response is None or response.response_complete:
            if has_response and response is self.cycle:
                self.transport.close()
            else:
                self._send_refusal(status, detail)
        elif response is self.cycle and (has_response or at_once):
            self._disconnect()
            if response.response_started:
                self.transport.close()
            else:
                self._send_refusal(status, detail)
        elif at_once:
            self._disconnect()
            self.transport.close()
        elif has_response and self.pipeline and self.cycle.more_body:
            # It waits for the responses to earlier requests, and won't be complete.
            self.pipeline.popleft()

    def _send_refusal(self, status: int, detail: str) -> None:
        if not self.transport.is_closing():
            body = problem(status, detail)
            self.transport.write(
                STATUS_LINE[status]
                + (_RETRY_AFTER if status == 503 else b"")
                + b"content-type: application/problem+json\r\nconnection: close\r\n"
                + b"content-length: %d\r\n\r\n" % len(body)
                + body
            )
            self.transport.close()


def _position(raw: RawResponse, log_end: LogEnd) -> Position:
    return max(raw.cached.reached, Position(log_end.epoch, log_end.current))
