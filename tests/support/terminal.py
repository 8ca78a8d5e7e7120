"""Runs the command on a terminal, where it speaks to a person."""

import os
import pty
import subprocess
import sys


def on_a_terminal(*arguments: str, status: int = 0) -> str:
    """What `metatide` writes to a terminal of 120 columns; it must end with `status`."""
    ours, theirs = pty.openpty()
    with os.fdopen(ours, "rb", buffering=0) as reading:
        environ = {**os.environ, "TERM": "dumb", "COLUMNS": "120"}
        command = [sys.executable, "-m", "metatide", *arguments]
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=theirs, stderr=subprocess.DEVNULL, env=environ
        )
        os.close(theirs)
        written = b""
        try:
            while part := reading.read(65536):
                written += part
        except OSError:  # what Linux says when the last writer has closed a terminal
            pass
        assert process.wait(timeout=60) == status
    return written.decode()
