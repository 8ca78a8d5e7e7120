"""Limits the wait for brokers that don't answer."""

import time
from typing import Final

SILENCE_S_MAX: Final = 30.0


class Silence:
    """The time since anything came or went."""

    def __init__(self) -> None:
        self.max_s = SILENCE_S_MAX
        self._since = time.monotonic()

    def end(self) -> None:
        """Notes that something came or went."""
        self._since = time.monotonic()

    @property
    def too_long(self) -> bool:
        return time.monotonic() - self._since >= self.max_s
