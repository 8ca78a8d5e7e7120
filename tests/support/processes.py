"""Runs one service of the stack for as long as the tests need it."""

import ctypes
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from metatide.stack.machine import as_user
from metatide.stack.service import Service

_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None)
_POLL_S = 0.02


@contextmanager
def open_folder() -> Iterator[Path]:
    """A temporary folder that PostgreSQL's user may enter, unlike pytest's own."""
    with tempfile.TemporaryDirectory(prefix="metatide-test-") as name:
        folder = Path(name)
        folder.chmod(0o711)
        yield folder


@contextmanager
def running(service: Service, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Starts the service, waits until it answers and ends it, even if the tests are killed."""
    launch = service.prepare()
    with log.open("ab") as out:
        process = subprocess.Popen(
            launch.argv,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            cwd="/",
            env=launch.full_environment(),
            process_group=0,
            preexec_fn=die_with_parent(signal.SIGKILL),
            **as_user(launch.user),
        )
    try:
        deadline = time.monotonic() + service.start_timeout_s
        while not service.answers():
            assert process.poll() is None, f"{service.name} ended:\n{log.read_text()}"
            assert time.monotonic() < deadline, f"{service.name} is silent:\n{log.read_text()}"
            time.sleep(_POLL_S)
        service.settle()
        yield process
    finally:
        process.send_signal(service.stop_signal)
        try:
            process.wait(service.stop_timeout_s)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def spawn(
    command: Sequence[str], log: Path, environment: Mapping[str, str], user: str | None = None
) -> subprocess.Popen[bytes]:
    """Starts a process that writes to the log, and ends with the tests."""
    with log.open("ab") as out:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            env=environment,
            preexec_fn=die_with_parent(signal.SIGKILL),
            **as_user(user),
        )


def die_with_parent(number: signal.Signals) -> Callable[[], None]:
    """A function that a child calls when it starts, so that it gets this signal when the tests are
    gone.
    """
    return lambda: _LIBC.prctl(_PR_SET_PDEATHSIG, number)
