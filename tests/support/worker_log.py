"""What a worker in this process logs and prints, and the secrets that may not be in it."""

import base64
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from typing import Any, Final

import pytest
from structlog.testing import capture_logs

SECRET_BYTES_MIN: Final = 6
"""What is shorter may be in a log by chance."""


class WorkerLog:
    """The entries of the log, and what a test keeps out of them."""

    def __init__(self, entries: list[MutableMapping[str, Any]]) -> None:
        self.entries: Final = entries
        self._secrets: set[bytes] = set()

    def keep_out(self, *secrets: str | bytes) -> None:
        """None of these may be written, however it is spelled."""
        for secret in secrets:
            data = secret.encode() if isinstance(secret, str) else secret
            assert len(data) >= SECRET_BYTES_MIN, secret
            self._secrets.add(data)

    def users(self, event: str) -> set[str]:
        """Whom the entries of an event name."""
        return {entry["user"] for entry in self.entries if entry["event"] == event}

    def leaked(self, printed: str) -> list[str]:
        """The spellings of secrets that were logged or printed."""
        written = f"{self.entries}{printed}"
        return [text for secret in self._secrets for text in _spellings(secret) if text in written]


def _spellings(secret: bytes) -> Iterator[str]:
    """The texts as which a log could show a secret."""
    text = secret.decode(errors="replace")
    yield from (text, repr(text)[1:-1], repr(secret)[2:-1])
    yield secret.hex()
    for encoded in (base64.b64encode(secret), base64.urlsafe_b64encode(secret)):
        yield encoded.decode().rstrip("=")


@contextmanager
def worker_log(capture: pytest.CaptureFixture[str]) -> Iterator[WorkerLog]:
    """The log during the block, in which no secret may be at its end."""
    with capture_logs() as entries:
        log = WorkerLog(entries)
        yield log
    if leaked := log.leaked("".join(capture.readouterr())):
        pytest.fail(f"the log shows secrets: {leaked}")
