"""A closed loop of keep-alive HTTP connections, in a process of its own.

It costs little compared to the server: it only counts the bytes of answers that are as long as the
first.
"""

import json
import os
import select
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import psutil

from benchmarks.random_keys import drawing
from benchmarks.report import cpu_s

_RECEIVED_MAX: Final = 1 << 20
_PATIENCE_S: Final = 30


class Load(NamedTuple):
    """A request, the number of clients that repeat it, and for how long they do so."""

    port: int
    path: str
    """With fields for the two parts of a drawn key, if `keys` are drawn."""
    clients: int
    seconds: float
    headers: str = ""
    keys: str = ""
    """How keys are drawn (`benchmarks.random_keys`); empty for one and the same request."""
    keys_a_part: int = 1
    """The number of keys with the same first part."""
    keys_count: int = 1
    """The number of keys."""
    seed: int = 1

    def requests(self) -> Callable[[], bytes]:
        """Makes the next request."""
        if not self.keys:
            request = self._request(self.path)
            return lambda: request
        draw = drawing(self.keys, self.keys_count, self.seed)
        return lambda: self._request(self.path.format(*divmod(draw(), self.keys_a_part)))

    def _request(self, path: str) -> bytes:
        return f"GET {path} HTTP/1.1\r\nHost: localhost\r\n{self.headers}\r\n".encode()


def measure(load: Load, server: psutil.Process) -> dict[str, Any]:
    """Answers per second, their latencies, and the processor time that 10,000 take on each side."""
    before = cpu_s(server)
    output = subprocess.check_output(command(load), timeout=load.seconds + _PATIENCE_S)
    result: dict[str, Any] = json.loads(output)
    spent, count = cpu_s(server) - before, result.pop("count")
    result["cpu_s"] = {
        "server": round(10_000 * spent / count, 3),
        "clients": round(10_000 * result.pop("cpu_s") / count, 3),
    }
    return result


def command(load: Load) -> list[str]:
    """The command of a process that makes the load and prints its figures as JSON."""
    return [sys.executable, "-m", "benchmarks.load", *map(str, load)]


def connect(port: int) -> socket.socket:
    connected = socket.create_connection(("127.0.0.1", port), _PATIENCE_S)
    connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connected


def receive(connected: socket.socket) -> bytes:
    """Receives one whole answer; the length of a body is in the head."""
    data = b""
    while not data or len(data) < length(data):
        more = connected.recv(_RECEIVED_MAX)
        assert more, "the server hung up"
        data += more
    return data


def length(data: bytes) -> int:
    """The length of the answer that begins with these bytes, which must contain its whole head."""
    head, ended, _ = data.partition(b"\r\n\r\n")
    assert ended, "a head in parts"
    _, found, rest = head.lower().partition(b"\r\ncontent-length: ")
    return len(head) + 4 + (int(rest.split(b"\r\n", 1)[0]) if found else 0)


def ask(load: Load) -> dict[str, Any]:
    request = load.requests()
    with connect(load.port) as first:
        first.sendall(request())
        size = len(receive(first))
    opened = {one.fileno(): one for one in (connect(load.port) for _ in range(load.clients))}
    polling = select.epoll()
    now = time.perf_counter
    sent: dict[int, float] = {}
    missing = dict.fromkeys(opened, size)
    took: list[float] = []
    began_cpu = time.process_time()
    end = now() + load.seconds
    for number, connection in opened.items():
        polling.register(number, select.EPOLLIN)
        sent[number] = now()
        connection.send(request())
    while (at := now()) < end:
        for number, _ in polling.poll(1):
            connection = opened[number]
            data = connection.recv(_RECEIVED_MAX)
            if missing[number] == size and len(data) != size:
                missing[number] = length(data)
            missing[number] -= len(data)
            if missing[number] <= 0:
                missing[number] = size
                at = now()
                took.append(at - sent[number])
                sent[number] = at
                connection.send(request())
    spent = time.process_time() - began_cpu
    took.sort()
    return {
        "per_s": round(len(took) / load.seconds),
        "p50_ms": round(1000 * took[len(took) // 2], 3),
        "p99_ms": round(1000 * took[int(len(took) * 0.99)], 3),
        "count": len(took),
        "cpu_s": spent,
    }


def main() -> None:
    port, path, clients, seconds, headers, keys, *numbers = sys.argv[1:]
    load = Load(int(port), path, int(clients), float(seconds), headers, keys, *map(int, numbers))
    print(json.dumps(ask(load)))
    # This doesn't wait for the server to close the connections.
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
