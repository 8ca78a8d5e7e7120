"""One client's connection: splits bytes into calls, runs them in order, and writes the replies."""

import asyncio
from collections.abc import Coroutine
from typing import Final, cast

import structlog

from hive.errors import MetatideError, RefusedLoginError, ThriftError
from query_api.in_flight import LARGE_BYTES, TOO_MANY_BYTES, Budget, Untaken
from query_api.thrift.connection.backlog import Backlog
from query_api.thrift.connection.calls import Calls
from query_api.thrift.connection.compact_layer import CompactLayer
from query_api.thrift.connection.first_bytes import Transport, transport_of
from query_api.thrift.connection.flow_control import FlowControl
from query_api.thrift.connection.state import (
    ENDING,
    HOLDING,
    IDLE,
    IN_CALL,
    NEGOTIATING,
    NEW,
    NEXT,
    SCANNING,
    STARTING,
    YIELDING,
    State,
)
from query_api.thrift.protocol.compact_reader import PROTOCOL as COMPACT
from query_api.thrift.protocol.frames import Frames
from query_api.thrift.protocol.scanner import STEPS_MAX, Scanner
from query_api.thrift.protocol.wire import Fault, Message, refusal
from query_api.thrift.sasl.handshake import Handshake
from query_api.thrift.sasl.mechanism import Identity, Layer
from query_api.thrift.sasl.unauthenticated import (
    NEEDS_HTTP_LOGIN,
    NEEDS_SASL_LOGIN,
    UnauthenticatedCalls,
)
from query_api.thrift.settings import ThriftSettings

CALLS_IN_A_ROW: Final = 32
"""After this many calls of one client, others get a turn."""
PUT_OFF_BYTES_MAX: Final = 64 * 1024
"""With more bytes that wait for the call under way to end, no more are read."""
SHORT_BYTES: Final = 16 * 1024
"""The values of a call of this length needn't be counted: they can't be many."""

log = structlog.get_logger(__name__)


class Connection(asyncio.Protocol):
    """The bytes of one client.

    1. A call begins once the previous one has ended and the client has taken its reply.
    2. Until then, reading stops after a limited number of bytes.
    3. Bytes that can't be parsed end the connection, with an error if one can be sent.

    `State` lists the permitted changes of state; any other is an AssertionError.
    """

    def __init__(self, settings: ThriftSettings, budget: Budget) -> None:
        self.calls: Calls | None = None
        self.client_address = ""
        self.ended: str | None = None
        """The reason in a word, if this side ended the connection."""
        self.why = ""
        """The same in a sentence."""
        self.trace_headers: tuple[tuple[bytes, bytes], ...] = ()
        """The W3C context of the trace that the call belongs to, where there is a place for it."""
        self.authorization = b""
        """The header of HTTP with the token by which the client has proved who calls, if it has."""
        self.workers_methods: frozenset[str] = frozenset()
        """What clients may call that haven't proved who they are, where that is required."""
        self.flow = FlowControl()
        self._settings = settings
        self._received = budget.share(self._make_room)
        self._untaken = Untaken(budget.share(self._make_room))
        self._held_bytes = 0
        """The bytes of the call under way, and of what is collected for it."""
        self._backlog = Backlog(self._received)
        self._scanner = Scanner(settings.message_bytes_max, STEPS_MAX)
        self._has_reply = False
        """Whether some of the reply to the last call is written."""
        self._handshake: Handshake | None = None
        self._layer: Layer | None = None
        self._first_bytes = b""
        """What came before it was clear what the client speaks."""
        self._has_protocol = False
        """Whether it is clear by which protocol the client makes its calls."""
        self._layer_bytes = 0
        """The bytes that the layer holds."""
        self._transport: asyncio.Transport | None = None
        self._state = NEW
        self._last_call: tuple[str, str] | None = None
        """Why the connection is closed after the call under way, in a word and in a sentence."""
        self._task: asyncio.Task[None] | None = None

    def identified(self, identity: Identity) -> None:
        """Called before the first call when the client has proved who it is."""

    # For the handler of calls.

    def write(self, data: bytes, more: bytes = b"") -> None:
        """Sends these bytes, both parts in one piece."""
        transport = self._transport
        if transport is None:
            return
        self._has_reply = True
        if self._layer is not None:
            data = self._layer.framed(data, more)
        elif more:
            data += more
        transport.write(data)
        if len(data) > LARGE_BYTES:
            self._untaken.wrote(len(data), transport.get_write_buffer_size())

    def begin_cached_call(self) -> None:
        """Begins a call that has a cached reply, but must wait for the database."""
        self._enter(IN_CALL)

    def run(self, work: Coroutine[None, None, None]) -> None:
        """Continues a call in a task, which is cancelled with the connection."""
        if self._state is ENDING:
            work.close()
            return
        self._enter(IN_CALL)
        self._start(work)

    def count_held(self, size: int) -> None:
        """Takes note that so many bytes more are held until the call ends."""
        if self._transport is not None:
            self._held_bytes += size
            self._received.add(size)

    def done(self) -> None:
        """Ends the call, so that the next may begin."""
        if self._held_bytes:
            self._received.add(-self._held_bytes)
            self._held_bytes = 0
        if self._state is STARTING:
            self._enter(SCANNING)
        elif self._state is not ENDING:
            assert self._state is IN_CALL, f"no call can end in {self._state.name}"
            if self._last_call is None:
                self._go_on()
            else:
                self.close(*self._last_call)

    def restart_cached_call(self, data: bytes) -> None:
        """Restarts such a call as any other, because its cached reply can't be used."""
        if self._transport is None:
            return
        self._backlog.put_back(data)
        last_call, self._last_call = self._last_call, None
        self.done()
        if last_call is not None:
            self.finish(*last_call)

    def finish(self, kind: str, why: str) -> None:
        """Closes the connection once the call under way has ended, and its reply is taken."""
        if self._state is IN_CALL:
            self._last_call = kind, why
        elif self._state is not ENDING:
            self.close(kind, why)

    def end(self, kind: str, why: str, *, reply: bytes = b"") -> None:
        """Closes the connection, after a last message if `reply` isn't empty."""
        if self._state is ENDING:
            return
        if reply and not self.flow.is_blocked:
            self.write(reply)
            self.close(kind, why)
            return
        assert self._transport is not None
        self._enter(ENDING)
        self.ended, self.why = kind, why
        self._transport.abort()

    def fail(self, error: BaseException) -> None:
        """Ends the connection after a failure. Part of a reply may have been sent, so closing early
        is the only signal.
        """
        if isinstance(error, MetatideError):
            self.end("failed", str(error))
            return
        log.error("a call failed", client=self.client_address, exc_info=error)
        self.end("failed", f"an unexpected fault: {error}")

    def abort(self) -> None:
        assert self._transport is not None
        self._transport.abort()

    def close(self, kind: str | None = None, why: str = "") -> None:
        """Closes the connection; without a reason, because the client wants no more."""
        assert self._transport is not None
        self._enter(ENDING)
        self.ended, self.why = kind, why
        self._transport.close()
        self.flow.start_clock()

    def check(self, now: float) -> None:
        """Ends the connection if it makes no progress; called every few seconds."""
        assert self._transport is not None
        self._untaken.update(self._transport.get_write_buffer_size())
        if not self.flow.is_stuck(now, self._settings.message_timeout_s):
            return
        if self._state is not ENDING:
            self.end("slow", "the client took too long to send a call or to read a reply")
        else:
            self._transport.abort()

    # Called by the event loop.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports aren't subclasses of asyncio's.
        self._transport = self.flow.transport = cast(asyncio.Transport, transport)
        # Without a low mark, `resume_writing` means that nothing is buffered any more.
        self._transport.set_write_buffer_limits(high=LARGE_BYTES, low=0)
        peer = transport.get_extra_info("peername")
        self.client_address = f"{peer[0]}:{peer[1]}" if peer else ""
        self.flow.start_clock()

    def data_received(self, data: bytes) -> None:
        if self._state is ENDING:
            return
        if self._state is NEW:
            data = self._detect_transport(data)
            if not data:
                return
        if self._handshake is not None:
            self._negotiate(self._handshake, data)
            return
        if self._layer is not None or not self._has_protocol:
            try:
                data = self._unwrapped(data)
            except ThriftError as error:
                self.end("protocol", str(error))
                return
        assert self.calls is not None
        if self._state is not IDLE:
            self._put_off(data)
        elif self._backlog.partial or not self.calls.answer_from_cache(data):
            self._scan(data)

    def pause_writing(self) -> None:
        self.flow.block()
        assert self._transport is not None
        assert self.calls is not None
        self._untaken.update(self._transport.get_write_buffer_size())
        if self._state is IDLE:
            self._enter(HOLDING)
        self.calls.writable(False)

    def resume_writing(self) -> None:
        self.flow.unblock()
        self._untaken.update(0)
        if self._backlog.partial:
            self.flow.start_clock()
        else:
            self.flow.stop_clock()
        assert self.calls is not None
        self.calls.writable(True)
        if self._state is HOLDING:
            self._go_on()

    def connection_lost(self, _: Exception | None) -> None:
        if self._state is not ENDING:
            self._enter(ENDING)
        self._transport = self.flow.transport = None
        self.flow.unblock()
        self._backlog.clear()
        self._held_bytes = 0
        self._received.set(0)
        self._untaken.update(0)
        if self._task is not None:
            self._task.cancel()
        assert self.calls is not None
        self.calls.close()
        # They refer to the connection: a cycle would wait for the garbage collection.
        self.calls = None

    # Changes of state.

    def _enter(self, state: State) -> None:
        assert state in NEXT[self._state], f"{self._state.name} can't become {state.name}"
        self._state = state

    def _start(self, work: Coroutine[None, None, None]) -> None:
        self._task = asyncio.get_running_loop().create_task(work)
        self._task.add_done_callback(self._task_ended)

    def _put_off(self, data: bytes) -> None:
        self._backlog.put(data)
        if self._backlog.size > PUT_OFF_BYTES_MAX:
            self.flow.pause_reading()

    def _go_on(self) -> None:
        """Begins calls that were put off, unless the client must take replies first."""
        if self.flow.is_blocked:
            self._enter(HOLDING)
        elif self._backlog.waiting:
            self._scan(self._backlog.take())
        else:
            self._enter(IDLE)
        if self.flow.is_paused and not self._backlog.waiting:
            self.flow.resume_reading()

    def _take_turn(self) -> None:
        if self._state is YIELDING:
            self._go_on()

    def _scan(self, data: bytes) -> None:
        """Begins the calls in these bytes, as far as that is possible now."""
        self._enter(SCANNING)
        at = 0
        try:
            at = self._begin_calls(data)
        except ThriftError as error:
            self._refuse("protocol", str(error))
        except Exception as error:
            self.fail(error)
        if self._state is not ENDING and at < len(data):
            self._backlog.put_back(data[at:])
        if self._state is SCANNING:
            self._pause()

    def _begin_calls(self, data: bytes) -> int:
        """Begins calls until one doesn't end at once; returns where in `data` the next begins."""
        assert self.calls is not None
        scanner, at, begun = self._scanner, 0, 0
        while at < len(data) and begun < CALLS_IN_A_ROW and not self.flow.is_blocked:
            self._has_reply = False
            end = scanner.feed(data, at)
            if end < 0:
                self._keep_partial(data[at:])
                return len(data)
            message = self._whole_message(data, at, end)
            at = end
            begun += 1
            self._enter(STARTING)
            self.calls.begin(message)
            if self._state is STARTING:
                self._enter(IN_CALL)
            if self._state is IN_CALL:
                self.count_held(len(message.data))
            if self._state is not SCANNING:
                break
        return at

    def _pause(self) -> None:
        """Ends a scan that has left no call under way."""
        if self.flow.is_blocked:
            self._enter(HOLDING)
        elif self._backlog.waiting:
            self._enter(YIELDING)
            asyncio.get_running_loop().call_soon(self._take_turn)
        else:
            self._enter(IDLE)

    def _whole_message(self, data: bytes, start: int, end: int) -> Message:
        whole = data[start:end]
        if self._backlog.partial:
            whole = self._backlog.take_partial(whole)
            self.flow.stop_clock()
        scanner = self._scanner
        return Message(
            whole,
            scanner.method,
            scanner.kind,
            scanner.sequence,
            scanner.body_at,
            scanner.steps if len(whole) > SHORT_BYTES else 0,
        )

    def _unwrapped(self, data: bytes) -> bytes:
        """The calls in these bytes, without SASL, frames and the compact protocol. Raises
        ThriftError.
        """
        layer = self._layer
        if layer is not None:
            data = layer.feed(data)
        if not self._has_protocol and data:
            self._has_protocol = True
            if data[0] == COMPACT:
                layer = self._layer = CompactLayer(layer, self._settings.message_bytes_max)
                data = layer.read(data)
        if layer is not None and layer.held_bytes != self._layer_bytes:
            self._count_layer(layer.held_bytes)
        return data

    def _count_layer(self, held_bytes: int) -> None:
        self._received.add(held_bytes - self._layer_bytes)
        if not self._layer_bytes:
            self.flow.start_clock()
        elif not held_bytes and not self._backlog.partial:
            self.flow.stop_clock()
        self._layer_bytes = held_bytes

    def _keep_partial(self, data: bytes) -> None:
        if not self._backlog.partial:
            self.flow.start_clock()
        self._backlog.put_partial(data)

    # The handshake.

    def _detect_transport(self, data: bytes) -> bytes:
        """Finds out by the first bytes what the client speaks, and begins with it; returns all of
        them once they tell, and none before.
        """
        self._first_bytes += data
        transport = transport_of(self._first_bytes)
        if transport is None:
            return b""
        self._begin_transport(transport)
        data, self._first_bytes = self._first_bytes, b""
        return data

    def _begin_transport(self, transport: Transport) -> None:
        """Decides by what the client speaks how its bytes are read, and what it must prove."""
        settings = self._settings
        if transport is Transport.FRAMED:
            self._layer = Frames()
        if transport is Transport.SASL:
            self._handshake = Handshake(settings.mechanisms)
            self._enter(NEGOTIATING)
            return
        if settings.needs_login:
            assert self.calls is not None
            why = NEEDS_SASL_LOGIN if settings.mechanisms else NEEDS_HTTP_LOGIN
            self.calls = UnauthenticatedCalls(self.calls, self, self.workers_methods, why)
        self.flow.stop_clock()
        self._enter(IDLE)

    def _negotiate(self, handshake: Handshake, data: bytes) -> None:
        try:
            response = handshake.feed(data)
        except ThriftError as error:
            if self._task is not None:
                self._task.cancel()
            self.end("sasl", str(error), reply=handshake.refuse(str(error)))
            return
        self._received.set(handshake.held_bytes if response is None else len(response))
        if response is not None:
            self._start(self._answer_response(handshake, response))

    async def _answer_response(self, handshake: Handshake, response: bytes) -> None:
        try:
            reply = await handshake.answer(response)
        except RefusedLoginError as error:
            self.end("login", error.details, reply=handshake.refuse(str(error)))
            return
        if self._state is ENDING:
            return
        self.write(reply)
        self._received.set(0)
        if handshake.identity is not None:
            self.identified(handshake.identity)
            self._handshake, self._layer = None, handshake.layer
            self.flow.stop_clock()
            self._enter(IDLE)

    # Ends of the connection.

    def _make_room(self) -> None:
        """Ends the connection, because too many bytes are in flight."""
        if self._state is not ENDING:
            self._refuse("limit", TOO_MANY_BYTES)
        elif self._transport is not None:
            self._transport.abort()

    def _refuse(self, kind: str, why: str) -> None:
        scanner, reply = self._scanner, b""
        if scanner.body_at and not self._has_reply:
            reply = refusal(scanner.method, scanner.sequence, Fault.PROTOCOL_ERROR, why)
        self.end(kind, why, reply=reply)

    def _task_ended(self, task: asyncio.Task[None]) -> None:
        if self._task is task:
            # The traceback of its exception keeps the frames of the call, and what they read from.
            self._task = None
        error = None if task.cancelled() else task.exception()
        if error is not None:
            self.fail(error)
