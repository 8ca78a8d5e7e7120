"""Load for the Thrift server's benchmark: closed loops of calls, by clients that skip through
replies."""

import selectors
import socket
from collections.abc import Callable
from time import perf_counter
from typing import Any, Final, NamedTuple

import psutil

from benchmarks.report import cpu_s
from query_api.thrift.protocol.scanner import Scanner
from query_api.thrift.protocol.wire import MessageType, header

SECONDS: Final = 3.0
WARM_UP_S: Final = 2.0


class Server(NamedTuple):
    """The port of a server, and the processes whose processor time is measured."""

    port: int
    process: psutil.Process
    behind: psutil.Process | None = None
    """The process that the server asks in turn."""


class Client:
    """A connection that sends one call after the other, and awaits each reply."""

    def __init__(
        self, port: int, method: str, call: Callable[[], bytes], sizes: dict[int, int]
    ) -> None:
        """`call` makes the arguments of the next call. `sizes` has the sizes of replies by those of
        their calls, as soon as one client has seen them: calls of one size have replies of one
        size.
        """
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._head = header(MessageType.CALL, method, b"\0\0\0\1")
        self._call = call
        self._scanner = Scanner(1 << 30)
        self._sizes = sizes
        self._left = 0
        self._received = 0
        self._sent = 0.0

    def ask(self) -> None:
        call = self._head + self._call()
        self._size = len(call)
        self._received = 0
        self._left = self._sizes.get(self._size, -1)
        self._sent = perf_counter()
        self.socket.sendall(call)

    def receive(self) -> float | None:
        """Receives bytes; returns the time of the reply once it is complete. Only the first one of
        a size is scanned for its end.
        """
        data = self.socket.recv(1 << 20)
        if not data:
            raise SystemExit("the server hung up")
        self._received += len(data)
        if self._left < 0:
            if self._scanner.feed(data) < 0:
                return None
            if self._scanner.kind != MessageType.REPLY:
                raise SystemExit(f"an exception instead of a reply: {data[:300]!r}")
            self._sizes[self._size] = self._received
        elif self._received < self._left:
            return None
        elif self._received > self._left:
            raise SystemExit("replies to calls of one size differ in size")
        return perf_counter() - self._sent

    @property
    def size(self) -> int:
        """The median size of the replies."""
        return sorted(self._sizes.values())[len(self._sizes) // 2]


def measure(where: Server, method: str, call: Callable[[], bytes], clients: int) -> dict[str, Any]:
    sizes: dict[int, int] = {}
    opened = [Client(where.port, method, call, sizes) for _ in range(clients)]
    with selectors.DefaultSelector() as selector:
        for client in opened:
            selector.register(client.socket, selectors.EVENT_READ, client)
            client.ask()
        _drive(selector, WARM_UP_S)
        processes = [process for process in (where.process, where.behind) if process]
        before = [cpu_s(process) for process in processes]
        seconds = _drive(selector, SECONDS)
        spent = [cpu_s(process) - start for process, start in zip(processes, before, strict=True)]
    for client in opened:
        client.socket.close()
    seconds.sort()
    names = ("cpu_us", "cpu_us_behind")
    return {
        "per_s": round(len(seconds) / SECONDS),
        "p50_ms": round(1000 * seconds[len(seconds) // 2], 3),
        "p99_ms": round(1000 * seconds[int(len(seconds) * 0.99)], 3),
        **{
            name: round(1e6 * each / len(seconds), 1)
            for name, each in zip(names, spent, strict=False)
        },
        "reply_bytes": opened[0].size,
    }


def _drive(selector: selectors.BaseSelector, for_s: float) -> list[float]:
    """The latencies of the calls that are answered within this time."""
    latencies: list[float] = []
    end = perf_counter() + for_s
    while perf_counter() < end:
        for key, _ in selector.select(1):
            took = key.data.receive()
            if took is not None:
                latencies.append(took)
                key.data.ask()
    return latencies
