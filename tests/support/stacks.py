"""A whole stack, run by the command line as users run it."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import psutil
from prometheus_client.parser import text_string_to_metric_families

from metatide.stack.state import ProcessState, StackState, StateFile
from tests.support import local_http
from tests.support.processes import die_with_parent

PATIENCE_S = 240.0
_POLL_S = 0.05


class Stack:
    """`metatide up` on a data folder."""

    def __init__(self, folder: Path, *options: str, **environment: str) -> None:
        self.folder = folder
        self._out = folder.with_name(f"{folder.name}.out")
        with self._out.open("ab") as out:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "metatide", "up", "--data-dir", str(folder), *options],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                env={**os.environ, **environment},
                process_group=0,
                preexec_fn=die_with_parent(signal.SIGTERM),
            )

    @property
    def output(self) -> str:
        return self._out.read_text()

    @property
    def state(self) -> StackState:
        state = StateFile(self.folder).read()
        assert state is not None, self.output
        return state

    def entry(self, name: str) -> ProcessState:
        return next(one for one in self.state.processes if one.name == name)

    def until(self, what: Callable[[], bool]) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not what():
            assert time.monotonic() < deadline, self.output
            assert self.process.poll() is None, self.output
            time.sleep(_POLL_S)

    def until_ready(self) -> None:
        self.until(self._writes_its_state)
        self.until(self.ready)

    def until_live(self, name: str) -> str:
        """Waits until a worker follows the topic, which therefore exists; returns its URL."""
        url = self.entry(name).address

        def is_live() -> bool:
            try:
                return local_http.get(f"{url}/readyz", timeout=10).status_code == 200
            except httpx.TransportError:
                return False

        self.until(is_live)
        return url

    def _writes_its_state(self) -> bool:
        state = StateFile(self.folder).read()
        return state is not None and state.pid == self.process.pid

    def ready(self) -> bool:
        try:
            return local_http.get(f"{self.state.address}/readyz", timeout=10).status_code == 200
        except httpx.TransportError:
            return False

    def metrics(self, name: str) -> set[str]:
        """The names of metrics on a process's page, without the creation times of counters."""
        page = local_http.get(f"{self.entry(name).address}/metrics", timeout=30).text
        found = {one.name for one in text_string_to_metric_families(page)}
        return {one for one in found if not one.endswith("_created")}

    def kill(self, name: str) -> None:
        """Kills a process by SIGKILL, and waits until the stack has restarted it."""
        pid = self.entry(name).pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        self.until(lambda: self.entry(name).pid != pid and self.entry(name).phase == "running")
        self.until(self.ready)

    def end(self, how: signal.Signals = signal.SIGTERM) -> int:
        self.process.send_signal(how)
        return self.process.wait(PATIENCE_S)


@contextmanager
def stack(folder: Path, *options: str, **environment: str) -> Iterator[Stack]:
    """Runs a stack until it is ready; ends it, whatever the test did to it."""
    running = Stack(folder, *options, **environment)
    try:
        running.until_ready()
        yield running
    finally:
        if running.process.poll() is None:
            running.end()


def processes_on(folder: Path) -> list[str]:
    """The command lines of all processes that name a path in a data folder."""
    processes = []
    for process in psutil.process_iter():
        try:
            line = " ".join(process.cmdline())
        except (psutil.NoSuchProcess, psutil.ZombieProcess):
            continue
        if f"{folder}/" in f"{line} ".replace(" ", "/") and process.pid != os.getpid():
            processes.append(line)
    return processes
