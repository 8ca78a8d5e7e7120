"""The bytes in flight: requests that aren't answered yet, and answers that clients haven't taken.

All ports of a process share one budget of them.
"""

import asyncio
from collections.abc import Callable
from typing import Final

BYTES_MAX: Final = 192 * 1024 * 1024
SLICE_BYTES: Final = 256 * 1024
WHY: Final = "too many bytes are in flight for all clients: try again later"


def write_in_slices(write: Callable[[bytes], None], data: bytes) -> None:
    """Writes large data in slices of its own. A transport keeps what it was given as a whole until
    the last byte is taken, but counts only the bytes that aren't.
    """
    for at in range(0, len(data), SLICE_BYTES):
        write(data[at : at + SLICE_BYTES])


class Budget:
    """Counts the bytes in flight. When there are too many, it ends connections: of those that have
    at least the average, the ones whose bytes have been in flight for longest. Clients that send
    and read at a usual pace are hardly ever among these.
    """

    def __init__(self, bytes_max: int = BYTES_MAX) -> None:
        self.bytes_max = bytes_max
        self.bytes = 0
        self._shares: dict[Share, None] = {}
        """Those with bytes in flight, the oldest first."""

    def share(self, end: Callable[[], None]) -> "Share":
        """A share for a connection that `end` ends."""
        return Share(self, end)

    def change(self, share: "Share", size: int) -> None:
        """Takes note that a share has grown or shrunk to this size."""
        self.bytes += size - share.size
        share.size = size
        if not size:
            self._shares.pop(share, None)
        elif not share.is_over:
            self._shares.setdefault(share)
            while self.bytes > self.bytes_max:
                self._end_one()

    def _end_one(self) -> None:
        count = len(self._shares)
        share = next(share for share in self._shares if share.size * count >= self.bytes)
        share.is_over = True
        self.change(share, 0)
        # It may be the connection that is just writing.
        asyncio.get_running_loop().call_soon(share.end)


class Share:
    """The bytes in flight of one connection."""

    __slots__ = ("_budget", "end", "is_over", "size")

    def __init__(self, budget: Budget, end: Callable[[], None]) -> None:
        self.size = 0
        self.end = end
        self.is_over = False
        """Whether the connection has been told to end; what it still has is no longer counted."""
        self._budget = budget

    def set(self, size: int) -> None:
        if size != self.size and not self.is_over:
            self._budget.change(self, size)

    def add(self, size: int) -> None:
        self.set(self.size + size)
