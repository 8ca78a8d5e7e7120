"""Runs the command on a terminal, where its output is for people."""

import os
import pty
import subprocess
import sys


def on_a_terminal(*arguments: str, status: int = 0) -> str:
    """The output of `metatide` on a terminal of 120 columns; it must exit with `status`."""
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
        except OSError:  # Linux raises this when the last writer has closed a terminal
            pass
        assert process.wait(timeout=60) == status
    return written.decode()
