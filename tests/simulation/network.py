"""The network between simulated processes: what is sent arrives late, in order, and in pieces."""

import asyncio
import socket
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

import aiohappyeyeballs
import aiohttp

from tests.simulation.scheduler import Process, Scheduler

if TYPE_CHECKING:
    from tests.simulation.event_loop import SimulatedLoop

Address = tuple[str, int]
"""The name of a process, and a port."""
ProtocolFactory = Callable[[], asyncio.BaseProtocol]

_DELAY_S: Final = (0.000_05, 0.000_4)
_SLOW_SHARE: Final = 0.01
_SLOW_FACTOR: Final = 200.0
_SPLIT_SHARE: Final = 0.2
_OWN_PORTS_FROM: Final = 50_000


class Network:
    """Who listens where, and which connections there are."""

    def __init__(self, scheduler: Scheduler) -> None:
        self.scheduler = scheduler
        self.cut_until: dict[str, float] = {}
        """Until when nothing gets to or from a process."""
        self._random = scheduler.random("network")
        self._listeners: dict[Address, _Listener] = {}
        self._transports: dict[Process, dict[_Transport, None]] = {}
        self._ports = _OWN_PORTS_FROM

    def listen(self, loop: "SimulatedLoop", factory: ProtocolFactory, port: int) -> "Server":
        address = (loop.process.name, port)
        listener = self._listeners[address] = _Listener(loop, factory)
        return Server(address, partial(self._end_listening, address, listener))

    async def connect(
        self, loop: "SimulatedLoop", factory: ProtocolFactory, to: Address
    ) -> tuple[asyncio.Transport, asyncio.BaseProtocol]:
        """Connects to a listener; its process gets to know of that when it next runs."""
        await asyncio.sleep(2 * self.delay_s(loop.process.name, to[0]))
        listener = self._listeners.get(to)
        if listener is None or not listener.loop.process.alive:
            raise ConnectionRefusedError(f"nobody listens at {to[0]}:{to[1]}")
        self._ports += 1
        own = (loop.process.name, self._ports)
        here, there = _Transport(self, loop, own, to), _Transport(self, listener.loop, to, own)
        here.peer, there.peer = there, here
        for transport in (here, there):
            self._transports.setdefault(transport.loop.process, {})[transport] = None
        listener.loop.call_soon_threadsafe(there.begin, listener.factory)
        return here, here.begin(factory)

    def end(self, process: Process) -> None:
        """Tells the others that a process has ended."""
        for address, listener in list(self._listeners.items()):
            if listener.loop.process is process:
                del self._listeners[address]
        for transport in list(self._transports.pop(process, ())):
            transport.reset()

    def delay_s(self, sender: str, receiver: str) -> float:
        """How long it takes until something arrives that is sent now."""
        factor = _SLOW_FACTOR if self._random.random() < _SLOW_SHARE else 1.0
        until = max(self.cut_until.get(sender, 0.0), self.cut_until.get(receiver, 0.0))
        cut_s = max(0.0, until - self.scheduler.now)
        return cut_s + factor * self._random.uniform(*_DELAY_S)

    def pieces(self, data: bytes) -> list[bytes]:
        """What is sent at once may arrive in two pieces."""
        if len(data) < 2 or self._random.random() >= _SPLIT_SHARE:
            return [data]
        at = self._random.randrange(1, len(data))
        return [data[:at], data[at:]]

    def forget(self, transport: "_Transport") -> None:
        self._transports.get(transport.loop.process, {}).pop(transport, None)

    def _end_listening(self, address: Address, listener: "_Listener") -> None:
        if self._listeners.get(address) is listener:
            del self._listeners[address]


class _Listener(NamedTuple):
    loop: "SimulatedLoop"
    factory: ProtocolFactory


class Socket(NamedTuple):
    """What protocols want of the socket under a transport, which isn't there."""

    own: Address | None
    peer: Address
    family: int = socket.AF_INET

    def getsockname(self) -> Address | None:
        return self.own

    def getpeername(self) -> Address:
        return self.peer

    def setsockopt(self, *_: object) -> None:
        pass

    def close(self) -> None:
        pass


def happy_eyeballs() -> SimpleNamespace:
    """The module by which aiohttp connects; the event loop connects its sockets later."""

    async def start_connection(addr_infos: Sequence[Any], **_: object) -> Socket:
        return Socket(None, addr_infos[0][-1])

    return SimpleNamespace(**{**vars(aiohappyeyeballs), "start_connection": start_connection})


async def resolve(
    _: aiohttp.TCPConnector, host: str, port: int, traces: object = None
) -> list[dict[str, Any]]:
    """What aiohttp looks up of a name, which stays as it is: processes are reached by names. Its
    own look-up wakes those who wait for one in the order of a set of futures, thus of addresses.
    """
    address = {"family": socket.AF_INET, "proto": 0, "flags": 0}
    return [{"hostname": host, "host": host, "port": port, **address}]


class Server:
    """What `create_server` gives."""

    def __init__(self, address: Address, end: Callable[[], None]) -> None:
        self.sockets = [Socket(address, address)]
        self.close = end

    async def wait_closed(self) -> None:
        pass


class _Transport(asyncio.Transport):
    """One end of a connection."""

    peer: "_Transport"

    def __init__(
        self, network: Network, loop: "SimulatedLoop", own: Address, other: Address
    ) -> None:
        super().__init__({"sockname": own, "peername": other, "socket": Socket(own, other)})
        self.loop = loop
        self._network = network
        self._names = own[0], other[0]
        self._protocol: Any = None
        self._has_ended = self._is_closing = self._is_paused = False
        self._arrived: deque[bytes | _End] = deque()
        self._last_due_s = 0.0

    def begin(self, factory: ProtocolFactory) -> asyncio.BaseProtocol:
        protocol = self._protocol = factory()
        protocol.connection_made(self)
        self._read()
        return protocol

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self._protocol = protocol

    def get_protocol(self) -> asyncio.BaseProtocol:
        return cast(asyncio.BaseProtocol, self._protocol)

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if not self._is_closing:
            for piece in self._network.pieces(bytes(data)):
                self._send(piece)

    def close(self) -> None:
        self._close(_End(None))

    def abort(self) -> None:
        self._close(_End(ConnectionResetError("the peer has aborted the connection")))

    def is_closing(self) -> bool:
        return self._is_closing

    def pause_reading(self) -> None:
        self._is_paused = True

    def resume_reading(self) -> None:
        self._is_paused = False
        self.loop.call_soon(self._read)

    def is_reading(self) -> bool:
        return not self._is_paused

    def get_write_buffer_size(self) -> int:
        return 0

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """Nothing is ever buffered."""

    def receive(self, what: "bytes | _End") -> None:
        self._arrived.append(what)
        self._read()

    def reset(self) -> None:
        """Tells the peer that this process has ended."""
        self._deliver(_End(ConnectionResetError("the peer has ended")))

    def _close(self, end: "_End") -> None:
        if not self._is_closing:
            self._is_closing = True
            self._send(end)
            self.loop.call_soon(self._end, None)

    def _send(self, what: "bytes | _End") -> None:
        # What a process does while it unwinds after its end reaches nobody.
        if self.loop.process.alive:
            self._deliver(what)

    def _deliver(self, what: "bytes | _End") -> None:
        network = self._network
        now = network.scheduler.now
        self._last_due_s = max(self._last_due_s, now + network.delay_s(*self._names))
        network.scheduler.after(self._last_due_s - now, partial(self._arrive, what))

    def _arrive(self, what: "bytes | _End") -> None:
        loop = self.peer.loop
        if loop.process.alive:
            loop.call_soon_threadsafe(self.peer.receive, what)

    @property
    def _is_reading(self) -> bool:
        has_begun = self._protocol is not None
        return has_begun and not (self._is_paused or self._has_ended)

    def _read(self) -> None:
        while self._is_reading and self._arrived:
            what = self._arrived.popleft()
            if not isinstance(what, _End):
                self._protocol.data_received(what)
                continue
            if what.error is None:
                self._protocol.eof_received()
            self._is_closing = True
            self._end(what.error)

    def _end(self, error: OSError | None) -> None:
        if not self._has_ended:
            self._has_ended = True
            self._network.forget(self)
            self._protocol.connection_lost(error)


class _End(NamedTuple):
    """The end of what is sent."""

    error: OSError | None
