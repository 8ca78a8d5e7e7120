from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from hive.write_ids.ids import DIFFERENCES_MAX, Ids
from hive.write_ids.lists import LONG_MAX, write_id_list


def test_a_list_up_to_the_greatest_long_is_no_snapshot() -> None:
    assert not write_id_list(LONG_MAX).is_snapshot
    assert write_id_list(0).is_snapshot


NUMBERS = st.lists(st.one_of(st.integers(1, 50), st.integers(-(1 << 62), 1 << 62)), max_size=30)


@given(NUMBERS, NUMBERS, st.integers(-5, 60))
def test_ids_are_a_sorted_list(numbers: list[int], others: list[int], last: int) -> None:
    ids, other = Ids(numbers), Ids(others)
    assert list(ids) == sorted(numbers)
    assert (ids == other) == (sorted(numbers) == sorted(others))
    assert hash(ids) == hash(Ids(reversed(numbers)))
    assert all((id_ in ids) == (id_ in numbers) for id_ in [*others, last])
    assert list(ids.between(1, last)) == [id_ for id_ in sorted(numbers) if 1 <= id_ <= last]
    assert ids.count(last) == numbers.count(last)
    assert ids.within(other, last) == ({id_ for id_ in numbers if id_ <= last} <= set(others))


@given(st.sets(st.integers(0, 400), max_size=300), st.sets(st.integers(0, 400), max_size=300))
def test_ids_that_lie_far_apart_and_differ_often(numbers: set[int], others: set[int]) -> None:
    step = 1 << 40
    ids, other = Ids(step * n for n in numbers), Ids(step * n for n in others)
    both = Ids([*ids, *other])
    assert ids.within(other, 1 << 62) == (numbers <= others)
    assert ids.within(both, 1 << 62)
    assert both.within(ids, 1 << 62) == (others <= numbers)
    assert both.within(ids, 200 * step) == ({n for n in others if n <= 200} <= numbers)


def test_so_many_differences_that_hashing_is_faster() -> None:
    step = 1 << 40
    every = Ids(step * n for n in range(400))
    some = [step * n for n in range(0, 400, 2)]
    assert len(some) > 2 * DIFFERENCES_MAX
    assert Ids(some).within(every, 1 << 62)
    assert not Ids([*some, step * 397 + 1]).within(every, 1 << 62)


def test_ids_that_are_repeated_so_often_that_hashing_is_faster() -> None:
    far = 1 << 40
    repeated = Ids([1] * (DIFFERENCES_MAX + 9) + [far])
    assert repeated.within(Ids([1, far]), far)
    assert not repeated.within(Ids([1, far - 1]), far)


def test_ids_are_read_as_a_list_is() -> None:
    anything: Sequence[object] = Ids([5])
    assert 5 in anything
    assert "5" not in anything
    assert repr(Ids([2, 1])) == "Ids([1, 2])"
