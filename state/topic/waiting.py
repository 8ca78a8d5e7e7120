"""Tells in the log what a process waits for before it reaches the brokers."""

from typing import Any, Final

from hive.errors import TopicError

POLL_S: Final = 0.5


class Waiting:
    """Tells each reason once, until there is another."""

    def __init__(self, log: Any, what: str) -> None:
        self._log = log
        self._what = what
        self._reason = ""

    def because(self, error: TopicError) -> None:
        """Takes note of a reason to wait."""
        if str(error) != self._reason:
            self._reason = str(error)
            self._log.warning(f"waiting for {self._what}", why=self._reason)
