"""The command `openssl`, with which tests make keys and certificates."""

import subprocess
from pathlib import Path


def openssl(*arguments: str | Path, data: bytes = b"") -> bytes:
    """What the command writes; `data` is its standard input."""
    done = subprocess.run(["openssl", *arguments], input=data, capture_output=True, check=True)
    return done.stdout
