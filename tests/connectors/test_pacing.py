"""That a connector looks often while there is work, and seldom while there is none."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from connectors.pacing import BUSY_S, Pacing

INTERVALS = st.floats(0.001, 60)
LOOKS = st.lists(st.tuples(st.booleans(), st.floats(0, 100)), max_size=40)


@given(INTERVALS, LOOKS)
def test_no_rest_is_longer_than_the_interval_or_the_look(
    interval_s: float, looks: list[tuple[bool, float]]
) -> None:
    rests = Pacing(interval_s)
    for busy, took_s in looks:
        rest_s = rests.after(busy=busy, took_s=took_s)
        assert BUSY_S <= rest_s <= max(BUSY_S, interval_s, took_s)
        assert rest_s == BUSY_S if busy else rest_s >= took_s


@given(INTERVALS, LOOKS)
def test_in_vain_it_rests_twice_as_long_each_time_up_to_the_interval(
    interval_s: float, before: list[tuple[bool, float]]
) -> None:
    rests = Pacing(interval_s)
    for busy, took_s in before:
        rests.after(busy=busy, took_s=took_s)
    waits = [rests.after(busy=True, took_s=0)]
    waits += [rests.after(busy=False, took_s=0) for _ in range(16)]
    longest_s = max(BUSY_S, interval_s)
    assert all(later == min(2 * rest, longest_s) for rest, later in pairwise(waits))
    assert waits[-1] == longest_s


@given(LOOKS)
def test_one_slow_look_makes_no_later_rest_longer(looks: list[tuple[bool, float]]) -> None:
    """What a look took is no habit: the rests after the others are as if it had taken nothing."""
    slow, quick = Pacing(1), Pacing(1)
    slow.after(busy=False, took_s=50)
    quick.after(busy=False, took_s=0)
    for busy, took_s in looks:
        assert slow.after(busy=busy, took_s=took_s) == quick.after(busy=busy, took_s=took_s)
