"""What a client wrote through its connection, which its answers must reflect."""

import asyncio

from query_api.elapsed import elapsed_s
from query_api.positions import Position
from query_api.thrift.call import CallAnswer, Client
from query_api.thrift.hub import Hub


class OwnWrites:
    """Raises the client's `min_position` to its last write, as soon as that write's position is
    read.

    1. A position counts in the epoch in which it was read. A later one may have begun with fewer
       events: before any of its answers, the position is read again.
    2. The shards here are compared with the database whenever a position is read. Those of other
       workers aren't, and may have events that the database has lost: numbers that are higher than
       the write's prove nothing of them, until a read of the log after the write has shown them.
    """

    def __init__(self, hub: Hub, client: Client) -> None:
        self._hub = hub
        self._client = client
        self._reading: asyncio.Task[bool] | None = None
        self._confirmed: frozenset[int] = frozenset()
        """The shards of other workers that have the database's history, as a read of the log since
        the last write has shown."""
        self.noted_s = 0.0
        """The time of the last write."""

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
        return self.are_dated and (
            least is None or (position.epoch == least.epoch and position.event >= least.event)
        )

    def note(self) -> None:
        """Takes note of a write: answers from now on must reflect it."""
        if not self._hub.settings.relay_reads:
            self.noted_s = elapsed_s()
            self._confirmed = frozenset()
            self.date_again()

    def date_again(self) -> None:
        """Has the position of the last write read in the epoch of now."""
        self._reading = asyncio.get_running_loop().create_task(self._date())

    async def date(self) -> bool:
        """Waits for the position of this client's last write; returns whether it is known now."""
        reading = self._reading
        # The position may be readable now, even if it wasn't at the write.
        if reading is None or await reading or await self._date():
            self._reading = None
            return True
        return False

    async def are_reflected(self, shard: int, answer: CallAnswer) -> bool:
        """Whether the answer of another worker from a shard surely reflects them."""
        least = self._client.min_position
        if least is None:
            return True
        # An epoch that isn't known here yet says nothing of the number of the write's event.
        if answer.position < least or answer.position.event < least.event:
            return False
        if shard not in self._confirmed and await self._has_history_of(answer):
            self._confirmed |= {shard}
        return shard in self._confirmed

    def close(self) -> None:
        if self._reading is not None:
            self._reading.cancel()
            self._reading = None

    async def _date(self) -> bool:
        views = self._hub.views
        log_end = await self._hub.database.after_now(views.reached) if views.knows_epoch else None
        if log_end is None:
            return False
        position, least = Position(log_end.epoch, log_end.current), self._client.min_position
        self._client.min_position = position if least is None else max(position, least)
        return True

    async def _has_history_of(self, answer: CallAnswer) -> bool:
        """Whether the database has the last event that another worker's answer reflects."""
        reached = answer.position
        log_end = await self._hub.database.after_now(min(self._hub.views.reached, reached))
        if log_end is None or reached.event > log_end.current:
            return False
        return not log_end.denies(reached, answer.mark)
