"""Worker processes of the tests."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from metatide.stack.machine import LOOPBACK
from metatide.stack.ports import Ports
from processors.directory import WorkerDirectory, worker_path
from state.topic import Topic
from tests.support import local_http
from tests.support.processes import spawn

PATIENCE_S = 90.0
_POLL_S = 0.02


class WorkerProcess:
    """A worker with a name, which may be started and ended again and again."""

    def __init__(
        self, topic: Topic, data_dir: Path, name: str, module: str = "metatide work", **env: str
    ) -> None:
        self.name = name
        # This port lies outside the range of outgoing connections, so none takes it while the
        # worker is down.
        self.port = Ports(data_dir / "ports.json").take(name)
        self.directory = WorkerDirectory(worker_path(data_dir, name))
        self.log = data_dir / f"{name}.log"
        self._command = [sys.executable, "-m", *module.split()]
        self._environment = {
            **os.environ,
            "METATIDE_KAFKA_BOOTSTRAP_SERVERS": topic.servers,
            "METATIDE_KAFKA_TOPIC": topic.name,
            "METATIDE_DATA_DIR": str(data_dir),
            "METATIDE_WORKER_NAME": name,
            "METATIDE_WORKER_PORT": str(self.port),
            "METATIDE_WORKER_SESSION_TIMEOUT_S": "6",
            **env,
        }
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def start(self) -> None:
        assert not self.running
        self.process = spawn(self._command, self.log, self._environment)

    def send(self, number: signal.Signals) -> None:
        assert self.process is not None
        self.process.send_signal(number)

    def end(self, how: signal.Signals = signal.SIGTERM) -> int:
        """Sends a signal and waits for the end; returns the exit status."""
        self.send(how)
        return self.wait()

    def wait(self) -> int:
        """Waits for the end; returns the exit status."""
        assert self.process is not None
        return self.process.wait(PATIENCE_S)

    def get(self, path: str) -> httpx.Response | None:
        """GETs a path; None while the worker doesn't answer."""
        try:
            return local_http.get(f"http://{LOOPBACK}:{self.port}{path}", timeout=5)
        except httpx.TransportError:
            return None

    def status(self) -> dict[str, Any] | None:
        answer = self.get("/v1/status")
        return None if answer is None else answer.json()

    def until(
        self, what: Callable[[dict[str, Any]], bool], patience_s: float = PATIENCE_S
    ) -> dict[str, Any]:
        """Waits until a condition on the worker's status holds; returns the status."""
        deadline = time.monotonic() + patience_s
        while True:
            status = self.status()
            if status is not None and what(status):
                return status
            assert time.monotonic() < deadline, f"{status}\n{self.log.read_text()[-4000:]}"
            assert self.running, self.log.read_text()[-4000:]
            time.sleep(_POLL_S)

    def until_ready(self, shards: int | None = None) -> dict[str, Any]:
        """Waits until the worker is ready, with so many shards if a number is given."""
        return self.until(
            lambda status: status["ready"] and shards in (None, len(status["shards"]))
        )

    def until_at(self, offsets: dict[int, int], patience_s: float = PATIENCE_S) -> dict[str, Any]:
        """Waits until the worker has exactly these shards, live and at these offsets."""
        return self.until(
            lambda status: (
                status["ready"]
                and {one["shard"]: one["offset"] for one in status["shards"]} == offsets
            ),
            patience_s,
        )


def end_all(processes: Sequence[WorkerProcess]) -> list[int]:
    """Ends workers that run, all at once; returns their exit statuses."""
    for process in processes:
        process.send(signal.SIGTERM)
    return [process.wait() for process in processes]


@contextmanager
def workers(*processes: WorkerProcess) -> Iterator[None]:
    """Starts workers, and ends them, whatever the test did to them."""
    try:
        for process in processes:
            process.start()
        yield
    finally:
        for process in processes:
            if process.running:
                process.send(signal.SIGCONT)
                process.end(signal.SIGKILL)
