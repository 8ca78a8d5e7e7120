"""Which epochs are believed."""

from hypothesis import given
from hypothesis import strategies as st

from state.records.epochs import EPOCH_JUMP_MAX, follows, is_later
from state.records.numbers import NATURAL_MAX

EPOCHS = st.integers(0, 3 * EPOCH_JUMP_MAX) | st.integers(0, NATURAL_MAX)


@given(EPOCHS, EPOCHS)
def test_of_two_epochs_only_one_can_follow_the_other(one: int, other: int) -> None:
    assert follows(one, other) + follows(other, one) == (one != other)


@given(EPOCHS)
def test_what_lies_too_far_above_does_not_follow(epoch: int) -> None:
    assert follows(epoch + 1, epoch)
    assert follows(epoch + EPOCH_JUMP_MAX, epoch)
    assert not follows(epoch + EPOCH_JUMP_MAX + 1, epoch)
    assert not follows(epoch, epoch)


@given(EPOCHS, EPOCHS)
def test_later_is_only_what_is_higher(one: int, other: int) -> None:
    assert is_later(one, other) == (follows(one, other) and one > other)
