from contextlib import suppress

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive.errors import RecordFormatError, UnwritableRecordError
from hive.names import table_name
from state.records import (
    FORMAT_VERSION,
    AnyRecord,
    Change,
    LoadRows,
    Pause,
    Reset,
    Rows,
    Scope,
    ScopeKind,
    Skip,
    decode,
    encode,
    skip_in,
    type_of,
)
from state.records.actions import AnyAction, CommitTxn, DropPartitions, PutPartitions
from state.records.codec import BODY, framed
from state.records.objects import PartitionImage

TABLE = table_name(None, "db", "t")
CHANGE = Change(
    epoch=2,
    after=4,
    upto=7,
    actions=(
        PutPartitions(TABLE, 3, (PartitionImage(("a", "b"), 3, 77, b"\x00bytes"),), added=True),
        CommitTxn(9, (("db", 3),)),
    ),
)


@pytest.mark.parametrize(
    "record",
    [
        CHANGE,
        Change(0, 1, 2),
        Change(0, 1, 2, (DropPartitions(TABLE, (("1",),)),), part=2, parts=3),
        LoadRows(0, "id", Scope(ScopeKind.TABLE, TABLE), 5, 0, Rows()),
        Reset(3, 17),
    ],
)
def test_records_come_back_as_they_were(record: Change) -> None:
    assert decode(encode(record)) == record


@pytest.mark.parametrize(
    "record",
    [
        Pause(0, 1 << 63, paused=False),
        Pause(0, 1 << 64, paused=False),
        Change(-1, 1, 2),
        Change(0, 1, 2, (CommitTxn(1 << 63, None),)),
        Change(0, 1, 2, (DropPartitions(TABLE, (("\ud800",),)),)),
    ],
)
def test_what_nobody_could_read_is_not_written(record: AnyRecord) -> None:
    with pytest.raises(UnwritableRecordError, match=f"a {type(record).__name__} that nobody could"):
        encode(record)


DEEP = framed(encode(Reset(3, 17))[BODY].replace(b"\x94", b"\x95", 1) + b"\x91" * 5000)
"""A record with an item more than this release knows, of too many levels."""


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (b"", "empty"),
        (bytes((FORMAT_VERSION + 1,)) + encode(CHANGE)[1:], "newer_format"),
        (b"\x00x", "unknown_format"),
        (encode(CHANGE)[:-1], "damaged"),
        (encode(CHANGE)[:3], "damaged"),
        (framed(encode(CHANGE)[BODY][:-1]), "damaged"),
        (framed(encode(CHANGE)[BODY].replace(b"a", b"\xff")), "damaged"),
        (DEEP, "damaged"),
    ],
)
def test_a_refusal_has_a_word_for_its_reason(value: bytes, reason: str) -> None:
    with pytest.raises(RecordFormatError) as refused:
        decode(value)
    assert refused.value.reason == reason


@given(st.data())
def test_nothing_but_our_error_comes_of_damaged_bytes(data: st.DataObject) -> None:
    damaged = bytearray(encode(CHANGE)[BODY])
    for _ in range(data.draw(st.integers(1, 3))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    with suppress(RecordFormatError):
        decode(framed(bytes(damaged)))
    skip_in(framed(bytes(damaged)))


@given(st.data())
def test_a_record_of_which_anything_has_changed_is_refused(data: st.DataObject) -> None:
    """Disks of brokers change bits, and what has other values would be folded like the rest."""
    value = encode(CHANGE)
    at = data.draw(st.integers(1, len(value) - 1))
    flipped = value[at] ^ data.draw(st.integers(1, 255))
    with pytest.raises(RecordFormatError, match="its checksum is another"):
        decode(value[:at] + bytes((flipped,)) + value[at + 1 :])


def test_the_first_bytes_tell_the_type() -> None:
    assert type_of(encode(CHANGE)[:9]) == "Change"
    assert type_of(encode(Reset(3, 17))) == "Reset"
    for value in (
        b"",
        b"\x02",
        b"\x02\x93",
        b"\x02\x93\xa1",
        b"\x02\x93\xa1y",
        b"\x02\x93\xff",
        b"\x03",
    ):
        assert type_of(value) is None


def test_orders_to_skip_are_told_from_other_records() -> None:
    order = Skip(4, 7, 9)
    assert skip_in(encode(order)) == order
    assert skip_in(encode(order)[:-1]) is None
    for other in (CHANGE, Reset(3, 17), Pause(0, 1, paused=True)):
        assert skip_in(encode(other)) is None


def test_every_action_has_a_tag_of_its_own() -> None:
    actions = msgspec.inspect.type_info(AnyAction)
    assert isinstance(actions, msgspec.inspect.UnionType)
    tags = [kind.tag for kind in actions.types if isinstance(kind, msgspec.inspect.StructType)]
    assert len(set(tags)) == len(actions.types)


def test_a_newer_format_is_refused_with_the_order_of_the_upgrade() -> None:
    newer = bytes((FORMAT_VERSION + 1,)) + encode(CHANGE)[1:]
    with pytest.raises(RecordFormatError, match="upgrade the workers before the connectors"):
        decode(newer)


@pytest.mark.parametrize(
    "value", [b"", b"\x00x", b"\x02", *map(framed, (b"", b"\x93\xa1c", b"\x91\xa2zz"))]
)
def test_bytes_that_are_no_record_are_refused(value: bytes) -> None:
    with pytest.raises(RecordFormatError):
        decode(value)
