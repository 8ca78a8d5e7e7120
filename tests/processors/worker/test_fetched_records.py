"""What a damaged batch does to the records around it."""

import pytest
from aiokafka.record.default_records import DefaultRecordBatchBuilder
from aiokafka.record.memory_records import MemoryRecords
from aiokafka.record.util import calc_crc32c
from aiokafka.structs import TopicPartition

from processors.consumer.fetched_records import FetchedRecords
from processors.consumer.inflate import BATCH_BYTES_MAX, limit_batches

GZIP, LZ4 = 1, 3


def batch(first: int, *values: bytes, codec: int = 0) -> bytes:
    builder = DefaultRecordBatchBuilder(2, codec, 0, -1, -1, 0, 1 << 30)
    for number, value in enumerate(values):
        builder.append(number, 1_000, None, value, [])
    data = builder.build()
    return first.to_bytes(8) + bytes(data[8:])


def damaged(data: bytes) -> bytes:
    return data[:-3] + bytes([data[-3] ^ 1]) + data[-2:]


def read(data: bytes, offset: int = 0) -> list[tuple[int, bytes]]:
    """The records that aiokafka passes on, and the offset that it fetches next."""
    limit_batches()
    records = FetchedRecords(
        TopicPartition("events", 0), MemoryRecords(data), [], offset, None, None, True, 0
    )
    read = [(record.offset, record.value) for record in records]
    return [*read, (records.next_fetch_offset, b"next")]


def test_whole_batches_are_read_from_the_offset() -> None:
    data = batch(0, b"a", b"b", codec=GZIP) + batch(2, b"c")
    assert read(data) == [(0, b"a"), (1, b"b"), (2, b"c"), (3, b"next")]
    assert read(data, offset=1) == [(1, b"b"), (2, b"c"), (3, b"next")]


@pytest.mark.parametrize("codec", [0, GZIP, LZ4])
def test_a_damaged_batch_is_one_empty_record(codec: int) -> None:
    data = batch(0, b"a") + damaged(batch(1, b"b", b"c", codec=codec)) + batch(3, b"d")
    assert read(data) == [(0, b"a"), (1, b""), (3, b"d"), (4, b"next")]


def test_behind_a_damaged_length_nothing_is_read() -> None:
    """Nobody knows where the next batch begins."""
    damaged_length = bytearray(batch(1, b"b", b"c"))
    damaged_length[8:12] = (2).to_bytes(4)
    data = batch(0, b"a") + bytes(damaged_length) + batch(3, b"d")
    assert read(data) == [(0, b"a"), (1, b""), (2, b"next")]


def test_a_batch_that_is_too_large_is_one_empty_record() -> None:
    large = batch(1, bytes(BATCH_BYTES_MAX + 1), codec=LZ4)
    data = batch(0, b"a") + large + batch(2, b"b")
    assert read(data) == [(0, b"a"), (1, b""), (2, b"b"), (3, b"next")]


def test_the_end_of_a_transaction_is_no_record() -> None:
    control = bytearray(batch(1, b"x"))
    control[21:23] = (0x20).to_bytes(2)
    control[17:21] = calc_crc32c(bytes(control[21:])).to_bytes(4)
    data = batch(0, b"a") + bytes(control) + batch(2, b"b")
    assert read(data) == [(0, b"a"), (2, b"b"), (3, b"next")]
