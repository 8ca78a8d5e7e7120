from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from state.store.ranges import Ranges

POINTS = [bytes((point,)) for point in range(12)]


@given(st.lists(st.tuples(st.sampled_from(POINTS), st.sampled_from(POINTS))))
def test_a_key_is_in_when_one_of_the_ranges_holds_it(added: list[tuple[bytes, bytes]]) -> None:
    ranges = Ranges()
    for start, end in added:
        ranges.add(start, end)
    for key in POINTS:
        assert (key in ranges) == any(start <= key < end for start, end in added)
    listed = list(ranges)
    assert len(ranges) == len(listed)
    assert all(start < end for start, end in listed)
    assert all(left[1] <= right[0] for left, right in pairwise(listed))


def test_ranges_that_only_touch_stay_apart() -> None:
    ranges = Ranges()
    ranges.add(b"p", b"q")
    ranges.add(b"q", b"r")
    assert list(ranges) == [(b"p", b"q"), (b"q", b"r")]
