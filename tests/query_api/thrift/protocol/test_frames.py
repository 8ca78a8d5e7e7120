import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive.errors import ThriftError
from query_api.thrift.protocol.frames import Frames


@given(st.lists(st.binary(max_size=50)), st.lists(st.integers(1, 7), min_size=1))
def test_frames_are_taken_off_whatever_pieces_they_come_in(
    parts: list[bytes], steps: list[int]
) -> None:
    data, unframer, unframed, at = b"".join(map(Frames().framed, parts)), Frames(), b"", 0
    while at < len(data):
        step = steps[at % len(steps)]
        unframed += unframer.feed(data[at : at + step])
        at += step
    assert unframed == b"".join(parts)


def test_an_unframed_message_is_no_frame() -> None:
    with pytest.raises(ThriftError, match="framed"):
        Frames().feed(b"\x80\x01\x00\x01")
