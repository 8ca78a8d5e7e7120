"""Waits for a shard to be complete up to an event."""

import asyncio
from heapq import heapify, heappop, heappush
from itertools import count
from typing import Final

from state.store import StorePosition

GONE_MAX: Final = 1_000
"""So many of those who waited in vain are kept before they are dropped."""


class Waiters:
    """The waiting readers of one event loop; the fold wakes them, so nobody polls."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, int, asyncio.Future[bool]]] = []
        self._numbers = count()
        self._gone_count = 0
        """About how many wait no more, but haven't been dropped."""

    async def complete_up_to(
        self, position: StorePosition, epoch: int, event: int, timeout_s: float
    ) -> bool:
        """Whether that event is applied at the present position, or will be in time; False if
        another epoch has begun or begins meanwhile."""
        if (position.epoch, position.applied) >= (epoch, event):
            return position.epoch == epoch
        future: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        heappush(self._heap, (epoch, event, next(self._numbers), future))
        try:
            async with asyncio.timeout(timeout_s):
                return await future
        except TimeoutError:
            return False
        finally:
            if future.cancelled():
                self._note_gone()

    def wake(self, position: StorePosition) -> None:
        """Wakes the readers for whom the shard is complete now."""
        heap = self._heap
        while heap and (heap[0][3].done() or heap[0][:2] <= (position.epoch, position.applied)):
            epoch, _, _, future = heappop(heap)
            if not future.done():
                future.set_result(epoch == position.epoch)

    def _note_gone(self) -> None:
        """Drops those who wait no more: a shard that commits nothing wakes nobody."""
        self._gone_count += 1
        if self._gone_count > max(GONE_MAX, len(self._heap) // 2):
            self._heap = [waiter for waiter in self._heap if not waiter[3].done()]
            heapify(self._heap)
            self._gone_count = 0
