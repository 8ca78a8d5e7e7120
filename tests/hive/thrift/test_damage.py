"""Bytes that were changed anywhere are read as something, or refused by our error."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive.errors import ThriftError
from hive.thrift.binary import decode, encode
from hive.thrift.plain_values import parse
from hive.thrift.splice import acid_partition, without_buckets, without_columns
from hive.thrift.structs import PARTITION, TABLE
from hive.thrift.types import CODES, STRUCT, Struct
from hive.thrift.view import PartitionView, TableView, View
from hive.thrift.wire import skip
from tests.hive.thrift.objects import values

Read = Callable[[bytes], object]


def damaged(struct: Struct) -> st.SearchStrategy[bytes]:
    """The bytes of objects, some of them replaced, and maybe not all of them."""

    @st.composite
    def drawn(draw: st.DrawFn) -> bytes:
        data = bytearray(encode(struct, draw(values(struct))))
        for _ in range(draw(st.integers(1, 3))):
            byte = draw(st.sampled_from([*CODES.values(), 0, 0x7F, 0xFF]) | st.integers(0, 255))
            data[draw(st.integers(0, len(data) - 1))] = byte
        return bytes(data[: draw(st.integers(0, len(data)) | st.just(len(data)))])

    return drawn()


def property_of(view: type[View], name: str) -> Read:
    return lambda data: getattr(view(data), name)


OF_BOTH: Sequence[Read] = (
    parse,
    lambda data: skip(data, 0, STRUCT),
    lambda data: View(data).ids(),
)
OF_TABLES: Sequence[Read] = (
    *OF_BOTH,
    partial(decode, TABLE),
    partial(without_buckets, TABLE),
    *(property_of(TableView, name) for name in ("id", "owner", "location", "columns")),
    *(property_of(TableView, name) for name in ("partition_keys", "transactional")),
)
OF_PARTITIONS: Sequence[Read] = (
    *OF_BOTH,
    partial(decode, PARTITION),
    partial(without_buckets, PARTITION),
    without_columns,
    acid_partition,
    *(property_of(PartitionView, name) for name in ("values", "write_id", "location", "columns")),
    lambda data: PartitionView(data).parameter("transactional"),
)


@pytest.mark.parametrize(("struct", "reads"), [(TABLE, OF_TABLES), (PARTITION, OF_PARTITIONS)])
@given(st.data())
def test_nothing_but_our_error_comes_of_damaged_bytes(
    struct: Struct, reads: Sequence[Read], data: st.DataObject
) -> None:
    damage = data.draw(damaged(struct))
    for read in reads:
        with suppress(ThriftError):
            read(damage)
