"""When a read is tried again. This module uses no network."""

import asyncio
import random
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final

import httpx

from metatide.client.errors import UnavailableError

RETRIED: Final = (UnavailableError, httpx.NetworkError, httpx.RemoteProtocolError)
"""What may be otherwise a moment later. All calls are reads, so any can be repeated."""
_FIRST_S: Final = 0.1
_SPREAD: Final = 0.2
"""Waits are longer by up to this share, so that many clients don't come back at once."""


def retry_after_s(headers: Mapping[str, str]) -> float:
    """How long the server asks to wait: a number of seconds, or until a date; by default a
    second.
    """
    text = headers.get("retry-after", "1")
    try:
        return max(0.0, float(text))
    except ValueError:
        pass
    try:
        until = parsedate_to_datetime(text)
    except ValueError:
        return 1.0
    return max(0.0, (until.astimezone(UTC) - datetime.now(UTC)).total_seconds())


class RetryWaits:
    """The waits of a read between its tries."""

    def __init__(self, total_s: float) -> None:
        self._until = time.monotonic() + total_s
        self._next_s = _FIRST_S

    def wait(self, error: Exception) -> None:
        """Waits until the next try after this error; raises it if that would take too long."""
        time.sleep(self._wait_s(error))

    async def async_wait(self, error: Exception) -> None:
        """The same for code with an event loop."""
        await asyncio.sleep(self._wait_s(error))

    def _wait_s(self, error: Exception) -> float:
        wait_s = self._next_s
        self._next_s *= 2
        if isinstance(error, UnavailableError):
            wait_s = max(wait_s, error.retry_after_s)
        wait_s *= 1 + random.uniform(0, _SPREAD)
        if time.monotonic() + wait_s > self._until:
            raise error
        return wait_s
