"""What a client wrote through its connection, which its answers must reflect."""

import asyncio

from query_api.positions import Position
from query_api.thrift.call import Client
from query_api.thrift.hub import Hub


class OwnWrites:
    """Raises the client's `min_position` to its last write, as soon as that write's position is
    read.
    """

    def __init__(self, hub: Hub, client: Client) -> None:
        self._hub = hub
        self._client = client
        self._reading: asyncio.Task[bool] | None = None

    @property
    def are_dated(self) -> bool:
        """Whether the position of this client's last write is already known."""
        reading = self._reading
        if reading is not None and reading.done() and not reading.cancelled() and reading.result():
            self._reading = None
        return self._reading is None

    def are_in(self, position: Position) -> bool:
        """Whether an answer that is complete up to this position surely reflects them."""
        least = self._client.min_position
        return self.are_dated and (least is None or position >= least)

    def note(self) -> None:
        """Takes note of a write: answers from now on must reflect it."""
        if not self._hub.settings.relay_reads:
            self._reading = asyncio.get_running_loop().create_task(self._date())

    async def date(self) -> bool:
        """Waits for the position of this client's last write; returns whether it is known now."""
        reading = self._reading
        # The position may be readable now, even if it wasn't at the write.
        if reading is None or await reading or await self._date():
            self._reading = None
            return True
        return False

    def close(self) -> None:
        if self._reading is not None:
            self._reading.cancel()
            self._reading = None

    async def _date(self) -> bool:
        views = self._hub.views
        latest = await self._hub.database.after_now(views.reached) if views.knows_epoch else None
        if latest is None:
            return False
        position, least = Position(latest.epoch, latest.current), self._client.min_position
        self._client.min_position = position if least is None else max(position, least)
        return True
