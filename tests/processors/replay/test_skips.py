"""Orders to skip records, in a topic that may lose its end."""

from collections.abc import Iterator
from threading import Event
from typing import cast

from processors.replay.skips import Skips
from state.records import Skip, encode
from state.topic import TopicReader
from state.topic.client import Bounds


class Reader:
    """A topic whose records are read in batches of one."""

    def __init__(self, *values: bytes) -> None:
        self.values = list(values)
        self.read_offsets: list[int] = []

    def bounds(self, _: int) -> Bounds:
        return Bounds(0, len(self.values))

    def read(self, _: int, start: int, end: int) -> Iterator[list[tuple[int, bytes]]]:
        for offset in range(start, end):
            self.read_offsets.append(offset)
            yield [(offset, self.values[offset])]

    def search(self, skips: Skips, offset: int, stop: Event | None = None) -> bool:
        return skips.search(cast("TopicReader", self), 0, offset, stop)


GARBAGE, ORDER = b"garbage", encode(Skip(0, 0, 0))


def test_an_order_that_the_topic_has_lost_counts_no_more() -> None:
    reader, skips = Reader(GARBAGE, GARBAGE, ORDER), Skips()
    assert reader.search(skips, 0)
    del reader.values[2:]
    assert not reader.search(skips, 0)
    reader.values.append(ORDER)
    assert reader.search(skips, 0)


def test_a_search_that_is_stopped_goes_on_where_it_was() -> None:
    reader, skips, stop = Reader(GARBAGE, GARBAGE, ORDER), Skips(), Event()
    stop.set()
    assert not reader.search(skips, 0, stop)
    stop.clear()
    assert reader.search(skips, 0, stop)
    assert reader.read_offsets == [1, 2]


def test_a_shard_that_is_built_again_finds_earlier_orders() -> None:
    reader, skips = Reader(GARBAGE, ORDER, GARBAGE, encode(Skip(0, 2, 2))), Skips()
    assert reader.search(skips, 2)
    assert reader.search(skips, 0)
    assert reader.search(skips, 2)
    assert reader.read_offsets == [3, 1, 2, 3]
