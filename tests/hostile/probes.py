"""Well-behaved clients that measure how long they wait, and one of a quiet server to compare."""

import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Final

from metatide.stack.machine import LOOPBACK
from tests.support.processes import die_with_parent

EVERY_S: Final = 0.05
LONG_S: Final = 0.25
_ECHO: Final = """
import socket
server = socket.create_server(("127.0.0.1", 0))
print(server.getsockname()[1], flush=True)
client, _ = server.accept()
while data := client.recv(16):
    client.sendall(data)
"""


class Probe:
    """Asks again and again in a thread of its own."""

    def __init__(self, name: str, ask: Callable[[], None]) -> None:
        self.name = name
        self.fault: BaseException | None = None
        self.count = 0
        self._ask = ask
        self._changed = threading.Condition()
        self._longest_s = 0.0
        self._begun_s: float | None = None
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def longest_s(self) -> float:
        """The longest wait since the last call. What has waited for long already is awaited."""
        with self._changed:
            began = self._begun_s
            if began is not None and time.monotonic() - began > LONG_S:
                self._changed.wait_for(lambda: self.fault or self._begun_s != began)
            longest_s, self._longest_s = self._longest_s, 0.0
            return longest_s

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stopped.wait(EVERY_S):
            began = time.monotonic()
            with self._changed:
                self._begun_s = began
            try:
                self._ask()
            except BaseException as error:
                self.fault = error
            with self._changed:
                self.count += 1
                self._longest_s = max(self._longest_s, time.monotonic() - began)
                self._begun_s = None
                self._changed.notify_all()
            if self.fault is not None:
                return


class Probes:
    """The clients of all protocols, and the quiet one."""

    def __init__(self, quiet: Probe, probes: list[Probe]) -> None:
        self._quiet = quiet
        self._probes = probes

    def fault(self) -> str | None:
        """The first client that got a wrong answer or none."""
        return next((f"{p.name}: {p.fault!r}" for p in self._probes if p.fault is not None), None)

    def longest_s(self) -> float:
        """The longest wait since the last call, beyond that for the quiet server meanwhile."""
        longest_s = max(probe.longest_s() for probe in self._probes)
        return longest_s - self._quiet.longest_s()

    @property
    def count(self) -> int:
        return min(probe.count for probe in self._probes)


@contextmanager
def probing(**asks: Callable[[], None]) -> Iterator[Probes]:
    """Measures until the block ends."""
    with ExitStack() as stack:
        quiet = stack.enter_context(_quiet())
        probes = [Probe(name, ask) for name, ask in {"quiet": quiet, **asks}.items()]
        for probe in probes:
            stack.callback(probe.stop)
        yield Probes(probes[0], probes[1:])


@contextmanager
def _quiet() -> Iterator[Callable[[], None]]:
    """Asks a process that does nothing but answer: what it takes is the machine's."""
    echo = subprocess.Popen(
        [sys.executable, "-S", "-c", _ECHO],
        stdout=subprocess.PIPE,
        preexec_fn=die_with_parent(signal.SIGKILL),
    )
    assert echo.stdout is not None
    try:
        with socket.create_connection((LOOPBACK, int(echo.stdout.readline()))) as connection:

            def ask() -> None:
                connection.sendall(b"x")
                assert connection.recv(1) == b"x"

            yield ask
    finally:
        echo.kill()
        echo.wait()
        echo.stdout.close()
