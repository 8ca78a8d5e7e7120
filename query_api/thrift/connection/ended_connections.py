"""The log of connections that the server ended."""

from collections import Counter
from collections.abc import Callable
from time import monotonic
from typing import Final

import structlog

LOG_EVERY_S: Final = 10.0
ENDED: Final = "a client's connection was ended"

log = structlog.get_logger(__name__)


class EndedConnections:
    """Logs why connections are ended and requests are refused; each reason at most once in ten
    seconds, because clients that are refused come back at once.
    """

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._next_at_s: dict[str, float] = {}
        self._unlogged: Counter[str] = Counter()

    def note(self, reason: str, why: str, client: str, user: str, *, event: str = ENDED) -> None:
        now_s = self._clock()
        if now_s < self._next_at_s.get(reason, now_s):
            self._unlogged[reason] += 1
            return
        self._next_at_s[reason] = now_s + LOG_EVERY_S
        log.warning(
            event,
            reason=reason,
            why=why,
            client=client,
            user=user,
            unlogged_before=self._unlogged.pop(reason, 0),
        )
