"""The orders to skip records of a shard that can't be read."""

from threading import Event
from typing import Final

from state.records import skip_in
from state.topic import TopicReader

RANGES_MAX: Final = 10_000
"""How many orders are remembered; whoever needs more gives them for longer stretches."""


class Skips:
    """The orders in a shard's partition, as far as it has been searched.

    An order comes later than the records that it is about. So whoever meets one that can't be read
    searches ahead, and each record that comes in the way is searched once.
    """

    def __init__(self) -> None:
        self._ranges: dict[tuple[int, int], None] = {}
        self._first = self._searched = 0
        """Everything from the first of these offsets to the other was searched."""

    def cover(self, offset: int) -> bool:
        """Whether an order is known that skips this record."""
        return any(first <= offset <= last for first, last in self._ranges)

    def search(
        self, reader: TopicReader, shard: int, offset: int, stop: Event | None = None
    ) -> bool:
        """Searches what the topic holds now after a record that can't be read; returns whether it
        is skipped. Ends early when `stop` is set."""
        end = reader.bounds(shard).end
        if end < self._searched:
            # The topic lost its end, and with it perhaps an order.
            self._ranges.clear()
            self._searched = 0
        if offset + 1 < self._first:
            # The shard is built again, from before what was searched.
            self._searched = 0
        start = max(offset + 1, self._searched)
        if start > self._searched:
            self._first = start
        for batch in reader.read(shard, start, end) if start < end else ():
            for at, value in batch:
                order = skip_in(value)
                if order is not None and len(self._ranges) < RANGES_MAX:
                    self._ranges[order.first, min(order.last, at - 1)] = None
                self._searched = at + 1
            if stop is not None and stop.is_set():
                break
        return self.cover(offset)
