"""Waits for a shard to be complete up to an event."""

import asyncio
from heapq import heappop, heappush
from itertools import count

from state.store import Position


class Waiters:
    """The waiting readers of one event loop; the fold wakes them, so nobody polls."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, int, asyncio.Future[bool]]] = []
        self._numbers = count()

    async def complete_up_to(
        self, position: Position, epoch: int, event: int, timeout_s: float
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

    def wake(self, position: Position) -> None:
        """Wakes the readers for whom the shard is complete now."""
        heap = self._heap
        while heap and (heap[0][3].done() or heap[0][:2] <= (position.epoch, position.applied)):
            epoch, _, _, future = heappop(heap)
            if not future.done():
                future.set_result(epoch == position.epoch)
