"""Every pair of partitions whose names and keys are in different orders is in the ranges."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hive.names import SAFE_BYTES, partition_name
from state import keys
from state.name_order import (
    _ESCAPED,
    Range,
    earlier_with_greater_names,
    later_with_lesser_names,
)

characters = st.sampled_from("ab1-.:/% !é\x01\"'~^&")
own_texts = st.text(characters, min_size=1, max_size=3)
other_texts = st.text(characters | st.just("\0"), max_size=4)


@st.composite
def partitions(draw: st.DrawFn) -> tuple[tuple[str, ...], tuple[str, ...], int]:
    """The values of two partitions, mostly alike, and how many first values they share."""
    own = tuple(draw(st.lists(own_texts, min_size=1, max_size=3)))
    shared = draw(st.integers(0, len(own) - 1))
    others = [
        draw(st.one_of(st.just(value), other_texts.map(value.__add__), other_texts))
        for value in own[shared:]
    ]
    return own, (*own[:shared], *others), draw(st.integers(0, shared))


def test_all_that_is_escaped_is_in_a_span() -> None:
    escaped = [code for code in range(1, 128) if code not in SAFE_BYTES]
    assert all(any(first <= code <= last for first, last in _ESCAPED) for code in escaped)


def is_in(ranges: list[Range], key: bytes) -> bool:
    return any(start <= key < end for start, end in ranges)


@example((("a", "1"), ("a-b", "1"), 0))
@example((("a-b", "1"), ("a", "1"), 0))
@example((("1:0",), ("1-0",), 0))
@example((("1-0",), ("1:0",), 0))
@example((("a", "x"), ("a\0", "x"), 0))
@example((("", "x"), ("_", "x"), 0))
@given(partitions())
def test_what_is_in_another_order_is_in_a_range(
    pair: tuple[tuple[str, ...], tuple[str, ...], int],
) -> None:
    own, other, fixed = pair
    columns = [f"c{number}" for number in range(len(own))]
    own_key, other_key = (keys.texts(keys.named_values(values)) for values in (own, other))
    own_name, other_name = (partition_name(columns, values) for values in (own, other))
    if other_key > own_key and other_name < own_name:
        assert is_in(list(later_with_lesser_names(own, fixed)), other_key)
    if other_key < own_key and other_name > own_name:
        assert is_in(list(earlier_with_greater_names(own, fixed)), other_key)


@pytest.mark.parametrize(
    ("own", "other"),
    [
        (("2026-01-02", "10"), ("2026-01-03", "02")),
        (("2026-01-02", "10"), ("2026-01-02", "9")),
        (("2026-01-02 10:00:00",), ("2026-01-02 11:30:00",)),
        (("us", "1"), ("usa", "2")),
        (("éa",), ("éb",)),
    ],
)
def test_what_is_in_one_order_is_in_no_range(own: tuple[str, ...], other: tuple[str, ...]) -> None:
    for here, there in ((own, other), (other, own)):
        key = keys.texts(there)
        assert not is_in(list(later_with_lesser_names(here)), key)
        assert not is_in(list(earlier_with_greater_names(here)), key)
