"""The bytes in flight: requests that aren't answered yet, and answers that clients haven't taken.

All ports of a process share one budget of them.
"""

import asyncio
from collections.abc import Callable
from typing import Final
from weakref import WeakMethod

BYTES_MAX: Final = 192 * 1024 * 1024
LARGE_BYTES: Final = 64 * 1024
"""Smaller writes aren't counted before the transport says that too many wait."""
TOO_MANY_BYTES: Final = "too many bytes are in flight for all clients: try again later"


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
        """A share for a connection, which its method `end` ends."""
        return Share(self, end)

    def change(self, share: "Share", size: int) -> None:
        """Takes note that a share has grown or shrunk to this size."""
        self.bytes += size - share.size
        share.size = size
        if not size:
            self._shares.pop(share, None)
        else:
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
    """The bytes in flight of one connection, which isn't kept alive by it."""

    __slots__ = ("_budget", "_end", "is_over", "size")

    def __init__(self, budget: Budget, end: Callable[[], None]) -> None:
        self.size = 0
        self.is_over = False
        """Whether the connection has been told to end; what it still has is no longer counted."""
        self._budget = budget
        self._end = WeakMethod(end)

    def end(self) -> None:
        """Ends the connection if it is still there."""
        end = self._end()
        if end is not None:
            end()

    def set(self, size: int) -> None:
        if size != self.size and not self.is_over:
            self._budget.change(self, size)

    def add(self, size: int) -> None:
        self.set(self.size + size)


class Untaken:
    """The share of what a client hasn't taken. A large write counts as a whole until the last byte
    is taken, because the transport keeps it so long.
    """

    def __init__(self, share: Share) -> None:
        self._share = share

    def wrote(self, size: int, buffered: int) -> None:
        """Takes note of a large write, after which the transport buffers so many bytes."""
        if buffered:
            self._share.set(max(size, buffered))

    def update(self, buffered: int) -> None:
        """Takes note of how many bytes the transport buffers."""
        self._share.set(max(self._share.size, buffered) if buffered else 0)
