from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive.errors import RecordFormatError
from state.records.heartbeats import Heartbeat, decode_heartbeat, encode_heartbeat

HEARTBEAT = Heartbeat(name="one", host="a", address="a:9090", position=7, fault="no database")


def test_a_heartbeat_comes_back() -> None:
    assert decode_heartbeat(encode_heartbeat(HEARTBEAT)) == HEARTBEAT


@given(st.integers(0, 200), st.binary(max_size=3))
def test_nothing_but_our_error_comes_of_damaged_bytes(length: int, more: bytes) -> None:
    with suppress(RecordFormatError):
        decode_heartbeat(encode_heartbeat(HEARTBEAT)[:length] + more)


def test_too_many_levels_are_refused() -> None:
    deep = b"\x81\xa1x" + b"\x91" * 5000
    with pytest.raises(RecordFormatError, match=r"a heartbeat can't be read: .*recursion"):
        decode_heartbeat(encode_heartbeat(HEARTBEAT)[:1] + deep)


def test_what_lacks_its_name_is_no_heartbeat() -> None:
    with pytest.raises(RecordFormatError, match=r"a heartbeat can't be read: .*`name`"):
        decode_heartbeat(encode_heartbeat(HEARTBEAT)[:1] + b"\x80")


@pytest.mark.parametrize("value", [b"", b"\x07\x80", b"{}"])
def test_another_format_is_refused(value: bytes) -> None:
    with pytest.raises(RecordFormatError, match="a heartbeat can't begin with"):
        decode_heartbeat(value)
