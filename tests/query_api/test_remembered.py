"""What is remembered of objects takes a limited number of bytes."""

import tracemalloc

import pytest

from hive.thrift.binary import encode
from hive.thrift.structs import TABLE
from query_api.http import encode as as_json
from query_api.reads import partitions
from query_api.remembered import LARGE_BYTES_MAX, SMALL_BYTES_MAX, Large, remembered
from query_api.resolver import silent_changes
from query_api.thrift.methods import table_traits

SIZES = (1, SMALL_BYTES_MAX, SMALL_BYTES_MAX + 1, 100_000)


@pytest.mark.parametrize("size", SIZES)
def test_an_object_is_looked_at_once(size: int) -> None:
    sizes: list[int] = []

    @remembered(4)
    def length(data: bytes) -> int:
        sizes.append(len(data))
        return len(data)

    for _ in range(3):
        # Each time from another copy, as if it had been read again.
        assert length(bytes(bytearray(size))) == size
    assert sizes == [size]


def test_large_objects_that_were_used_last_are_remembered() -> None:
    size = 400_000
    numbers: list[int] = []

    def copied(data: bytes) -> bytes:
        numbers.append(data[0])
        return bytes(bytearray(data))

    large = Large(copied)
    count = LARGE_BYTES_MAX // (2 * size)
    objects = [bytes([number]) * size for number in range(count + 1)]
    for data in (*objects[:count], objects[0], objects[count], objects[0], objects[1]):
        assert large(data) == data
        assert large.bytes <= LARGE_BYTES_MAX
    assert numbers == [*range(count + 1), 1]


def test_a_very_large_object_puts_out_no_others() -> None:
    large = Large(len)
    large(bytes(9000))
    assert large(bytes(LARGE_BYTES_MAX)) == LARGE_BYTES_MAX
    assert large.bytes == 9000


def test_what_two_look_at_at_a_time_counts_once() -> None:
    size, others = SMALL_BYTES_MAX + 1, [True]

    def length(data: bytes) -> int:
        if others.pop():
            others.append(False)
            assert large(data) == size
        return len(data)

    large = Large(length)
    assert large(bytes(size)) == size
    assert size <= large.bytes < 2 * size


@pytest.mark.parametrize(
    "function",
    [
        as_json.table,
        partitions._about,
        silent_changes.table_is_silent,
        silent_changes.is_replicated,
        table_traits.table_traits,
    ],
)
def test_wide_tables_do_not_fill_the_memory(function: object) -> None:
    assert callable(function)
    columns = [{"name": f"column_{number}", "type": "bigint"} for number in range(100)]
    comment = "c" * 300_000
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    for number in range(100):
        descriptor = {"cols": columns, "location": f"s3a://lake/{number}"}
        parameters = {"comment": comment}
        function(encode(TABLE, {"sd": descriptor, "parameters": parameters}))
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert grown < 3 * LARGE_BYTES_MAX // 2
