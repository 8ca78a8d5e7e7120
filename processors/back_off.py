"""Growing waits between the tries of what fails again and again."""

import asyncio
from typing import Final

FIRST_S: Final = 0.25


class BackOff:
    """Each wait is twice as long as the one before, up to a limit. The first one after a try that
    lasted long enough is short again."""

    def __init__(self, *, max_s: float, proven_s: float) -> None:
        self._max_s = max_s
        self._proven_s = proven_s
        self._next_s = FIRST_S

    async def wait(self, lasted_s: float) -> None:
        """Waits after a try that lasted so long."""
        wait_s = FIRST_S if lasted_s > self._proven_s else self._next_s
        await asyncio.sleep(wait_s)
        self._next_s = min(2 * wait_s, self._max_s)
