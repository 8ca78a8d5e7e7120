"""The pace of a connection: when to read, when to write, and how long to wait for the client."""

import asyncio
from time import monotonic


class FlowControl:
    """Flow control of one connection, in both directions.

    A clock runs while the client is expected to send the rest of a call or to take a reply. It
    restarts whenever the client takes some of a reply.
    """

    def __init__(self) -> None:
        self.transport: asyncio.Transport | None = None
        self.is_blocked = False
        """Whether replies wait because the client doesn't take them."""
        self.is_paused = False
        """Whether nothing is read for now."""
        self._taken = asyncio.Event()
        self._unsent = 0
        self._expected_since: float | None = None

    def block(self) -> None:
        """Takes note that the client has stopped taking what it is sent."""
        self.is_blocked = True
        self.start_clock()

    def unblock(self) -> None:
        """Takes note that the client has taken most of what was written."""
        self.is_blocked = False
        self._taken.set()

    async def writable(self) -> None:
        """Waits until the client has taken most of what was written."""
        while self.is_blocked:
            self._taken.clear()
            await self._taken.wait()

    def pause_reading(self) -> None:
        transport = self.transport
        if not self.is_paused and transport is not None and not transport.is_closing():
            transport.pause_reading()
            self.is_paused = True

    def resume_reading(self) -> None:
        transport = self.transport
        if self.is_paused and transport is not None:
            self.is_paused = False
            if not transport.is_closing():
                transport.resume_reading()

    def start_clock(self) -> None:
        self._expected_since = monotonic()

    def stop_clock(self) -> None:
        self._expected_since = None

    def is_stuck(self, now: float, patience_s: float) -> bool:
        """Whether the client has kept the server waiting for so long without any progress."""
        if self._expected_since is None:
            return False
        if self.is_blocked and self._took_some():
            self._expected_since = now
        return now - self._expected_since >= patience_s

    def _took_some(self) -> bool:
        """Whether the client has taken some of what was written since the last check."""
        before = self._unsent
        self._unsent = 0 if self.transport is None else self.transport.get_write_buffer_size()
        return self._unsent < before
