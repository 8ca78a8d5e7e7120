"""What a worker in this process logs and prints, and the secrets that may not be in it."""

from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from typing import Any, Final

import pytest
from structlog.testing import capture_logs

from tests.support.secrets_in_logs import forms_of

SECRET_LENGTH_MIN: Final = 6
"""What is shorter may be in a log by chance."""


class WorkerLog:
    """The entries of the log, and what a test keeps out of them."""

    def __init__(self, entries: list[MutableMapping[str, Any]]) -> None:
        self.entries: Final = entries
        self._secrets: set[str | bytes] = set()

    def keep_out(self, *secrets: str | bytes) -> None:
        """None of these may be written, however it is spelled."""
        for secret in secrets:
            assert len(secret) >= SECRET_LENGTH_MIN, secret
            self._secrets.add(secret)

    def users(self, event: str) -> set[str]:
        """Whom the entries of an event name."""
        return {entry["user"] for entry in self.entries if entry["event"] == event}

    def leaked(self, printed: str) -> list[str]:
        """The spellings of secrets that were logged or printed."""
        written = f"{self.entries}{printed}"
        return [text for secret in self._secrets for text in forms_of(secret) if text in written]


@contextmanager
def worker_log(capture: pytest.CaptureFixture[str]) -> Iterator[WorkerLog]:
    """The log during the block, in which no secret may be at its end."""
    with capture_logs() as entries:
        log = WorkerLog(entries)
        yield log
    if leaked := log.leaked("".join(capture.readouterr())):
        pytest.fail(f"the log shows secrets: {leaked}")
