"""Zipped batches of other producers: what they may grow to."""

import gzip
import random
import subprocess
import sys

import pytest
from aiokafka.errors import CorruptRecordException
from aiokafka.record.default_records import DefaultRecordBatch, DefaultRecordBatchBuilder
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from hypothesis import given
from hypothesis import strategies as st

from processors.consumer.inflate import (
    BATCH_BYTES_MAX,
    EMPTIED_MAX,
    inflate,
    inflate_lz4,
    inflate_snappy,
    inflate_zstd,
    limit_batches,
)
from state.topic.settings import RECORD_BYTES_MAX

_READS_ALL = """
import asyncio, sys
from aiokafka import AIOKafkaConsumer
import processors.consumer.faust_transport

def peak_mib() -> int:
    return int(open("/proc/self/status").read().partition("VmHWM:")[2].split()[0]) >> 10

async def main(servers: str, topic: str) -> None:
    consumer = AIOKafkaConsumer(topic, bootstrap_servers=servers, auto_offset_reset="earliest")
    await consumer.start()
    before = peak_mib()
    try:
        records = [await consumer.getone() for _ in range(3)]
    finally:
        await consumer.stop()
    print(peak_mib() - before, [len(record.value) for record in records])

asyncio.run(main(*sys.argv[1:]))
"""


def batch(*values: bytes) -> bytes:
    builder = DefaultRecordBatchBuilder(2, 1, 0, -1, -1, 0, 1 << 30)
    for offset, value in enumerate(values):
        builder.append(offset, 1_000 + offset, b"key", value, [("header", b"text")])
    return bytes(builder.build())


def by_codec(*values: bytes, codec: int) -> bytes:
    builder = DefaultRecordBatchBuilder(2, codec, 0, -1, -1, 0, 1 << 30)
    for offset, value in enumerate(values):
        builder.append(offset, 1_000 + offset, b"key", value, [])
    return bytes(builder.build())


def values(data: bytes) -> list[tuple[int, int, bytes | None]]:
    limit_batches()
    return [
        (record.offset, record.timestamp, record.value)
        for record in DefaultRecordBatch(bytearray(data))
    ]


def test_batches_within_the_limit_are_read_whole() -> None:
    assert values(batch(b"a", bytes(RECORD_BYTES_MAX))) == [
        (0, 1_000, b"a"),
        (1, 1_001, bytes(RECORD_BYTES_MAX)),
    ]


LZ4, SNAPPY, ZSTD = 3, 2, 4


@pytest.mark.parametrize("codec", [LZ4, SNAPPY, ZSTD])
@pytest.mark.parametrize("size", [0, 10, 1 << 16, RECORD_BYTES_MAX])
def test_batches_of_other_codecs_are_read_whole_within_the_limit(codec: int, size: int) -> None:
    for filling in (bytes(size), random.Random(1).randbytes(size)):
        assert [value for _, _, value in values(by_codec(b"a", filling, codec=codec))] == [
            b"a",
            filling,
        ]


@pytest.mark.parametrize("codec", [LZ4, SNAPPY, ZSTD])
def test_batches_of_other_codecs_beyond_the_limit_are_corrupt(codec: int) -> None:
    data = by_codec(b"a", bytes(BATCH_BYTES_MAX), codec=codec)
    with pytest.raises(CorruptRecordException):
        values(data)


@given(st.binary(max_size=40), st.booleans())
def test_no_bytes_make_a_codec_fail_otherwise(packed: bytes, is_framed: bool) -> None:
    framed = b"\x82SNAPPY\0\0\0\0\1\0\0\0\1" + packed if is_framed else packed
    for codec, data in ((inflate_lz4, packed), (inflate_zstd, packed), (inflate_snappy, framed)):
        try:
            codec(data)
        except CorruptRecordException:
            continue


def test_records_beyond_the_limit_are_empty_and_the_others_whole() -> None:
    huge = bytes(2 * BATCH_BYTES_MAX)
    assert values(batch(b"a", huge, b"b", huge, b"c")) == [
        (0, 1_000, b"a"),
        (1, 1_001, b""),
        (2, 1_002, b"b"),
        (3, 1_003, b""),
        (4, 1_004, b"c"),
    ]


@pytest.mark.parametrize("begin", [b"\x00", b"\x01", b"\x7f", b"\xff"])
def test_what_holds_no_records_is_corrupt(begin: bytes) -> None:
    with pytest.raises(CorruptRecordException):
        inflate(gzip.compress(begin * (BATCH_BYTES_MAX + 1), 1))


@pytest.mark.parametrize("contents", [b"a" * 100_000, bytes(2 * BATCH_BYTES_MAX)])
def test_of_what_is_cut_off_the_begin_is_inflated(contents: bytes) -> None:
    whole = batch(b"a", contents)[61:]
    begin = inflate(whole[:-20])
    assert begin
    assert inflate(whole).startswith(begin)


def test_many_records_beyond_the_limit_are_corrupt() -> None:
    small = bytes(BATCH_BYTES_MAX // EMPTIED_MAX)
    data = batch(*[small] * (2 * EMPTIED_MAX + 2))
    with pytest.raises(CorruptRecordException):
        values(data)


def test_a_record_that_grows_takes_a_worker_little_memory(kafka_broker: str) -> None:
    topic = "a-record-that-grows"
    admin = AdminClient({"bootstrap.servers": kafka_broker})
    admin.create_topics([NewTopic(topic, 1, 1)])[topic].result(30)
    producer = Producer(
        {
            "bootstrap.servers": kafka_broker,
            "compression.type": "gzip",
            # On a busy machine a producer sends again what was written.
            "enable.idempotence": True,
            "message.max.bytes": 300_000_000,
        }
    )
    for value in (b"before", bytes(200_000_000), b"after"):
        producer.produce(topic, value)
        assert producer.flush(60) == 0
    done = subprocess.run(
        [sys.executable, "-c", _READS_ALL, kafka_broker, topic],
        capture_output=True,
        text=True,
        check=True,
    )
    grown_mib, _, sizes = done.stdout.partition(" ")
    assert sizes == "[6, 0, 5]\n"
    assert int(grown_mib) < 150
