"""One client's connection: splits bytes into calls, runs them in order, and writes the replies."""

import asyncio
from collections import deque
from collections.abc import Coroutine
from time import monotonic
from typing import Final, Protocol, cast

import structlog

from hive.errors import ThriftError
from query_api.thrift import sasl
from query_api.thrift.frames import Unframer, framed
from query_api.thrift.scanner import Scanner
from query_api.thrift.settings import ThriftSettings
from query_api.thrift.wire import Fault, Message, refusal

CALLS_IN_A_ROW: Final = 32
"""The number of calls of a client after which others get a turn."""
PUT_OFF_BYTES_MAX: Final = 64 * 1024

log = structlog.get_logger(__name__)


class Budget:
    """The number of bytes in calls of all clients that haven't begun."""

    def __init__(self, bytes_max: int) -> None:
        self.bytes_max = bytes_max
        self.bytes = 0


class Calls(Protocol):
    """Handles the calls of one client. Each call ends with `Connection.done`; only then the next
    begins.
    """

    def answered_at_once(self, data: bytes, /) -> bool:
        """Answers these bytes without scanning them, if they are exactly one known call; returns
        whether it did.
        """
        ...

    def begin(self, message: Message, /) -> None: ...

    def writable(self, writable: bool, /) -> None:
        """Tells whether the client takes what it is sent."""

    def close(self) -> None:
        """Ends all calls, because the client is gone."""


class Connection(asyncio.Protocol):
    """The bytes of one client.

    1. A call begins when the one before has ended, and when the client has taken its reply.
    2. Until then little more is read.
    3. What can't be parsed ends the connection, with an error if one can be sent.
    """

    def __init__(self, settings: ThriftSettings, budget: Budget) -> None:
        self.calls: Calls | None = None
        self.client_address = ""
        self.ended: str | None = None
        """Why, in a word, if it was ended from here."""
        self._settings = settings
        self._budget = budget
        self._scanner = Scanner(settings.message_bytes_max)
        self._unframer = Unframer() if settings.framed else None
        self._transport: asyncio.Transport | None = None
        self._partial: list[bytes] = []
        self._put_off: deque[bytes] = deque()
        self._buffered = 0
        self._busy = False
        self._blocked = False
        self._scanning = False
        self._goes_on = False
        self._reading_paused = False
        self._heard = False
        self._stuck_since: float | None = None
        self._unsent = 0
        self._writable = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    # What its calls use.

    def write(self, data: bytes) -> None:
        if self._transport is not None:
            self._transport.write(data if self._unframer is None else framed(data))

    async def writable(self) -> None:
        """Waits until the client has taken most of what was written."""
        while self._blocked:
            self._writable.clear()
            await self._writable.wait()

    @property
    def is_blocked(self) -> bool:
        return self._blocked

    def hold(self) -> None:
        """Keeps the next call from beginning until this one is done."""
        self._busy = True

    def run(self, work: Coroutine[None, None, None]) -> None:
        """Continues a call in a task, which is cancelled with the connection."""
        self._busy = True
        self._task = asyncio.get_running_loop().create_task(work)
        self._task.add_done_callback(self._worked)

    def done(self) -> None:
        """Ends the call, so that the next may begin."""
        self._busy = False
        if not self._scanning:
            self._go_on()

    def again(self, data: bytes) -> None:
        """Restarts a call that was to be answered at once."""
        if self._transport is None:
            return
        self._put_off.appendleft(data)
        self._buffer(len(data))
        self.done()

    def end(self, kind: str, why: str, *, reply: bytes = b"") -> None:
        """Closes the connection, after a last message if there is one."""
        if self.ended is not None or self._transport is None:
            return
        self.ended = kind
        log.info("a client's connection was ended", client=self.client_address, why=why)
        if reply and not self._blocked:
            self.write(reply)
            self._transport.close()
            self._stuck_since = monotonic()
        else:
            self._transport.abort()

    def check(self, now: float) -> None:
        """Ends the connection if it makes no progress; called every few seconds."""
        since = self._stuck_since
        if since is not None and self._blocked and self._took_some():
            since = self._stuck_since = now
        if since is None or now - since < self._settings.message_timeout_s:
            return
        if self.ended is None:
            self.end("slow", "the client took too long to send a call or to read a reply")
        elif self._transport is not None:
            self._transport.abort()

    def _took_some(self) -> bool:
        """Whether the client has taken some of what was written since the last check."""
        before = self._unsent
        self._unsent = 0 if self._transport is None else self._transport.get_write_buffer_size()
        return self._unsent < before

    # What the event loop calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports are of no common class.
        self._transport = cast(asyncio.Transport, transport)
        peer = transport.get_extra_info("peername")
        self.client_address = f"{peer[0]}:{peer[1]}" if peer else ""

    def data_received(self, data: bytes) -> None:
        if self.ended is not None:
            return
        if not self._heard and self._refuses_sasl(data):
            return
        if self._unframer is not None:
            try:
                data = self._unframer.feed(data)
            except ThriftError as error:
                self.end("protocol", str(error))
                return
        assert self.calls is not None
        if self._busy or self._blocked or self._put_off:
            self._put_it_off(data)
        elif self._partial or not self.calls.answered_at_once(data):
            self._scan(data)

    def pause_writing(self) -> None:
        self._blocked = True
        self._stuck_since = monotonic()
        if self.calls is not None:
            self.calls.writable(False)

    def resume_writing(self) -> None:
        self._blocked = False
        self._stuck_since = monotonic() if self._partial else None
        self._writable.set()
        if self.calls is not None:
            self.calls.writable(True)
        if not self._busy:
            self._go_on()

    def connection_lost(self, _: Exception | None) -> None:
        self._transport = None
        self._blocked = False
        self._writable.set()
        self._buffer(-self._buffered)
        self._partial.clear()
        self._put_off.clear()
        if self._task is not None:
            self._task.cancel()
        if self.calls is not None:
            self.calls.close()

    def _refuses_sasl(self, data: bytes) -> bool:
        self._heard = True
        if data[0] == sasl.START:
            self.end("sasl", sasl.ADVICE, reply=sasl.refusal())
            return True
        return False

    def _scan(self, data: bytes) -> None:
        """Begins the calls in these bytes, as far as that is possible now."""
        assert self.calls is not None
        scanner, at, begun = self._scanner, 0, 0
        self._scanning = True
        try:
            while at < len(data) and self.ended is None:
                if self._busy or self._blocked or begun == CALLS_IN_A_ROW:
                    self._put_off.appendleft(data[at:])
                    self._buffer(len(data) - at)
                    break
                end = scanner.feed(data, at)
                if end < 0:
                    self._keep_partial(data[at:])
                    break
                message = self._whole(data, at, end)
                at = end
                begun += 1
                self._busy = True
                self.calls.begin(message)
        except ThriftError as error:
            self._refuse("protocol", str(error))
        except Exception as error:
            self._fail(error)
        finally:
            self._scanning = False
        if self._put_off and not self._busy and not self._goes_on:
            self._goes_on = True
            asyncio.get_running_loop().call_soon(self._go_on)

    def _whole(self, data: bytes, start: int, end: int) -> Message:
        if self._partial:
            self._partial.append(data[start:end])
            whole = b"".join(self._partial)
            self._partial.clear()
            self._buffer(end - start - len(whole))
            self._stuck_since = None
        else:
            whole = data[start:end]
        scanner = self._scanner
        return Message(whole, scanner.method, scanner.kind, scanner.sequence, scanner.body_at)

    def _keep_partial(self, data: bytes) -> None:
        if not self._partial:
            self._stuck_since = monotonic()
        self._partial.append(data)
        self._buffer(len(data))

    def _put_it_off(self, data: bytes) -> None:
        self._put_off.append(data)
        self._buffer(len(data))
        transport = self._transport
        if self._buffered > PUT_OFF_BYTES_MAX and not self._reading_paused:
            assert transport is not None
            if not transport.is_closing():
                transport.pause_reading()
                self._reading_paused = True

    def _buffer(self, size: int) -> None:
        self._buffered += size
        self._budget.bytes += size
        if size > 0 and self._budget.bytes > self._budget.bytes_max:
            self._refuse(
                "limit", "too many bytes of pending calls from all clients: try again later"
            )

    def _go_on(self) -> None:
        """Begins what was deferred."""
        self._goes_on = False
        if self._put_off and not (self._busy or self._blocked or self.ended):
            data = self._put_off.popleft()
            self._buffer(-len(data))
            self._scan(data)
        transport = self._transport
        if self._reading_paused and not self._put_off and transport is not None:
            self._reading_paused = False
            if not transport.is_closing():
                transport.resume_reading()

    def _refuse(self, kind: str, why: str) -> None:
        scanner = self._scanner
        reply = b""
        if scanner.body_at:
            reply = refusal(scanner.method, scanner.sequence, Fault.PROTOCOL_ERROR, why)
        self.end(kind, why, reply=reply)

    def _worked(self, task: asyncio.Task[None]) -> None:
        if task.cancelled():
            return
        error = task.exception()
        if error is not None:
            self._fail(error)

    def _fail(self, error: BaseException) -> None:
        """Ends the connection after a failure: part of a reply may be out, so closing it early is
        the only signal.
        """
        log.error("a call failed", client=self.client_address, exc_info=error)
        self.end("failed", f"an unexpected fault: {error}")
