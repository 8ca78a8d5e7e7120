"""Runs commands on a terminal, where their output is for people."""

import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from io import FileIO
from pathlib import Path
from select import select

from tests.support.processes import die_with_parent

TIMEOUT_S = 60


def terminal_environment(
    environ: Mapping[str, str] = os.environ, *, columns: int = 120
) -> dict[str, str]:
    """The environment of a program on a terminal that can't move its cursor."""
    return {**environ, "TERM": "dumb", "COLUMNS": str(columns), "LINES": "50"}


def run_on_a_terminal(
    command: Sequence[str],
    *,
    environ: Mapping[str, str],
    cwd: Path | None = None,
    with_errors: bool = False,
    timeout_s: float = TIMEOUT_S,
) -> tuple[int, str]:
    """The exit status and the output of a command on a terminal."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs if with_errors else subprocess.DEVNULL,
        env=environ,
        cwd=cwd,
        start_new_session=True,
        preexec_fn=die_with_parent(signal.SIGKILL),
    )
    os.close(theirs)
    try:
        with os.fdopen(ours, "rb", buffering=0) as reading:
            written = _all_of(reading, time.monotonic() + timeout_s)
        return process.wait(timeout_s), written.decode()
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _all_of(reading: FileIO, deadline: float) -> bytes:
    written = b""
    while select([reading], [], [], max(0, deadline - time.monotonic()))[0]:
        try:
            part = reading.read(65536)
        except OSError:  # Linux raises this when the last writer has closed a terminal
            return written
        if not part:
            return written
        written += part
    raise TimeoutError(f"nothing more after:\n{written.decode()}")


def on_a_terminal(*arguments: str, status: int = 0) -> str:
    """The output of `metatide` on a terminal of 120 columns; it must exit with `status`."""
    command = [sys.executable, "-m", "metatide", *arguments]
    exited, output = run_on_a_terminal(command, environ=terminal_environment())
    assert exited == status
    return output
