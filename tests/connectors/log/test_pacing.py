"""That a connector looks often while there is work, and seldom while there is none."""

from hypothesis import given
from hypothesis import strategies as st

from connectors.log.pacing import BUSY_S, SHARE_OF_QUIET, Pacing

INTERVALS = st.floats(0.001, 1)
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
def test_in_vain_rests_grow_with_the_quiet_time_up_to_the_interval(
    interval_s: float, before: list[tuple[bool, float]]
) -> None:
    rests = Pacing(interval_s)
    for busy, took_s in before:
        rests.after(busy=busy, took_s=took_s)
    quiet_s, longest_s = 0.0, max(BUSY_S, interval_s)
    rests.after(busy=True, took_s=0)
    while quiet_s < 2 * longest_s / SHARE_OF_QUIET:
        rest_s = rests.after(busy=False, took_s=0)
        assert rest_s == min(max(BUSY_S, quiet_s * SHARE_OF_QUIET), longest_s)
        quiet_s += rest_s
    assert rest_s == longest_s


@given(LOOKS)
def test_one_slow_look_makes_no_later_rest_longer(looks: list[tuple[bool, float]]) -> None:
    """What a look took is no habit: the rests after the others are as if it had taken nothing."""
    slow, quick = Pacing(1), Pacing(1)
    slow.after(busy=False, took_s=50)
    quick.after(busy=False, took_s=0)
    for busy, took_s in looks:
        assert slow.after(busy=busy, took_s=took_s) == quick.after(busy=busy, took_s=took_s)
