"""A process of the stack, which is started again when it ends, as systemd does."""

import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import psutil

from metatide.stack.service import Launch
from tests.support.processes import spawn

END_S: Final = 30.0


class Program:
    """One process, by name."""

    def __init__(self, name: str, launch: Callable[[], Launch], log: Path) -> None:
        self.name = name
        self.restarts = 0
        self.is_held = False
        """Whether it stays away although it has ended."""

        self._launch, self._log = launch, log
        self._process: subprocess.Popen[bytes] | None = None
        self._starting = threading.RLock()

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        with self._starting:
            self.is_held = False
            if not self.running:
                self._start()

    def _start(self) -> None:
        launch = self._launch()
        self._process = spawn(launch.argv, self._log, launch.full_environment(), launch.user)

    def tend(self) -> None:
        with self._starting:
            if not self.is_held and not self.running:
                self.restarts += 1
                self._start()

    def hold(self) -> None:
        """Keeps it away from now on, once it has ended."""
        with self._starting:
            self.is_held = True

    def send(self, number: signal.Signals) -> None:
        """Sends a signal to the process and to those that it has started."""
        for process in self._all():
            with suppress(psutil.NoSuchProcess):
                process.send_signal(number)

    def kill(self) -> None:
        processes = self._all()
        self.send(signal.SIGKILL)
        psutil.wait_procs(processes, END_S)
        if self._process is not None:
            self._process.wait(END_S)

    def end(self, within_s: float = END_S) -> bool:
        """Ends it by SIGTERM, for good; returns whether it ended by itself."""
        self.hold()
        if self._process is not None and self.running:
            self._process.terminate()
            try:
                self._process.wait(within_s)
            except subprocess.TimeoutExpired:
                self.kill()
                return False
        return True

    @contextmanager
    def away(self) -> Iterator[None]:
        """Kills it, and starts it again at the end of the block."""
        self.hold()
        self.kill()
        yield
        self.start()

    @contextmanager
    def stopped(self) -> Iterator[None]:
        self.send(signal.SIGSTOP)
        try:
            yield
        finally:
            self.send(signal.SIGCONT)

    def _all(self) -> list[psutil.Process]:
        if self._process is None or not self.running:
            return []
        try:
            process = psutil.Process(self._process.pid)
            return [process, *process.children(recursive=True)]
        except psutil.NoSuchProcess:
            return []
