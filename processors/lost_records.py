"""Tells whether a topic still has what led to a position.

A broker may lead that lacked the end of the topic. Once the topic has grown beyond the offsets that
were lost, only its records show that others stand there now.
"""

from state.records.codec import checksum
from state.store import StorePosition
from state.topic import TopicReader


def record_mark(value: bytes) -> int:
    """A number of 32 bits, never 0, that tells a record from others: its checksum, with which it
    ends. Stores and images hold it."""
    return checksum(value) or 1


def has_records_of(reader: TopicReader, shard: int, position: StorePosition) -> bool:
    """Whether the last record before a position is still there, as far as anybody can tell: if it
    was deleted behind an image, or passed over by order, nothing can be compared."""
    bounds = reader.bounds(shard)
    if position.offset > bounds.end:
        return False
    if not position.record_mark or position.offset <= bounds.first:
        return True
    last = reader.read(shard, position.offset - 1, position.offset)
    return all(record_mark(value) == position.record_mark for batch in last for _, value in batch)
