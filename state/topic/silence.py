"""How long brokers that answer nothing are waited for."""

import time
from typing import Final

SILENCE_S_MAX: Final = 30.0


class Silence:
    """The time for which nothing has come, or gone."""

    def __init__(self) -> None:
        self.max_s = SILENCE_S_MAX
        self._since = time.monotonic()

    def end(self) -> None:
        """Something came."""
        self._since = time.monotonic()

    @property
    def too_long(self) -> bool:
        return time.monotonic() - self._since >= self.max_s
