"""Whatever record can be read is folded: nothing that it names makes the fold raise."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import inspect

from hive.errors import RecordFormatError, UnwritableRecordError
from hive.names import TableName
from state.records import AnyRecord, decode, encode
from state.records.codec import BODY, framed
from state.records.envelopes import Change, LoadRows, Rows
from state.records.objects import ColumnStatisticsImage
from tests.model.world import Shard
from tests.processors.fold.record_strategies import allocation, strategy
from tests.processors.fold.shard import SCOPE

RECORDS = st.lists(strategy(inspect.type_info(AnyRecord)), max_size=8)


def check(records: list[AnyRecord]) -> None:
    shard = Shard()
    for record in records:
        read = decode(encode(record))
        assert read == record
        shard.fold(read)


@given(RECORDS)
@settings(max_examples=300)
def test_any_records_fold(records: list[AnyRecord]) -> None:
    check(records)


@pytest.mark.torture
@pytest.mark.timeout(0)
@given(RECORDS)
@settings(max_examples=20_000)
def test_any_records_fold_at_length(records: list[AnyRecord]) -> None:
    check(records)


TOO_MANY_FIELDS = ColumnStatisticsImage(None, "hive", "c", 0, 1, b"", fields=1 << 32)


@pytest.mark.parametrize(
    "hostile",
    [
        Change(0, -1, 1),
        Change(0, 1, 1 << 63),
        Change(0, 1, 2, (), 1 << 32, 2),
        LoadRows(0, "x", SCOPE, 1, 0, Rows(statistics=(TOO_MANY_FIELDS,))),
    ],
)
def test_numbers_that_no_log_has_are_refused(hostile: AnyRecord) -> None:
    with pytest.raises(RecordFormatError, match="int"):
        decode(framed(msgspec.msgpack.encode(hostile)))
    with pytest.raises(UnwritableRecordError, match="int"):
        encode(hostile)


def test_ids_are_given_to_as_many_transactions() -> None:
    value = encode(Change(0, 1, 2, (allocation(TableName("hive", "a", "b"), [(1, 1)]),)))
    with pytest.raises(RecordFormatError, match="as many transactions as write ids"):
        decode(framed(value[BODY].replace(b"\x91\x01\x91\x01", b"\x91\x01\x92\x01\x02")))
