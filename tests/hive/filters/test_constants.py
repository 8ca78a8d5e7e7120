"""Lists of constants: what is read at once is what would be read token by token."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hive.errors import FilterError
from hive.filters import values
from hive.filters.constants import MAX_STRING, read_constant, read_constants
from hive.filters.cursor import Cursor
from hive.filters.expressions import Constant
from hive.filters.tokens import Token

SPACES = st.text(" \n\t\r\f", max_size=2)
STRINGS = st.text("ab,()'\"\\ é\n-", max_size=4).map(lambda text: f"'{text}'")
LONG_STRINGS = st.integers(MAX_STRING - 4, MAX_STRING + 1).map(lambda size: f"'{'x' * size}'")
INTEGERS = st.tuples(
    st.sampled_from(["", "-", "- ", "--", "00"]),
    st.integers(0, 9) | st.integers(10**17, 10**20) | st.just((1 << 63) - 1) | st.just(1 << 63),
).map(lambda parts: f"{parts[0]}{parts[1]}")
OTHERS = st.sampled_from(
    ["", "a", "1a", "٣", "2024-01-02", "2024-01-02 03:04:05", "DATE '2024-01-02'", "'a' 'b'", '"a"']
)
CONSTANTS = STRINGS | LONG_STRINGS | INTEGERS | OTHERS
ITEMS = st.tuples(SPACES, CONSTANTS, SPACES).map("".join)
LISTS = st.tuples(
    SPACES,
    st.sampled_from(["(", "", "(("]),
    st.lists(STRINGS, max_size=4) | st.lists(INTEGERS, max_size=4) | st.lists(ITEMS, max_size=4),
    st.sampled_from([")", "", ",)", ") and b = 1"]),
).map(lambda parts: f"{parts[0]}{parts[1]}{','.join(parts[2])}{parts[3]}")


class _ByTokens(Cursor):
    def take_text(self, _: object) -> None:
        return None


class _AtOnce(Cursor):
    def take(self) -> Token:
        raise AssertionError("a constant is read by itself")


def outcome(cursor: Cursor) -> object:
    """The constants and what follows them, or the error."""
    try:
        constants = list(read_constants(cursor))
        rest = []
        while cursor.next.text:
            rest.append(cursor.take())
    except FilterError as error:
        return str(error)
    return list(map(repr, constants)), rest


@given(LISTS)
@example("('a','b' , '')")
@example("( -1,\n007 ) is true")
@example("(٣)")
@example(f"({', '.join(['12345678901234567'] * 3)})")
def test_a_list_is_read_as_token_by_token(text: str) -> None:
    assert outcome(Cursor(text)) == outcome(_ByTokens(text))


@pytest.mark.parametrize(
    ("text", "constants"),
    [("('a', 'b,(c')", ["a", "b,(c"]), ("(1, -2, 003)", [1, -2, 3]), ("( 'é' )", ["é"])],
)
def test_a_plain_list_is_taken_at_once(text: str, constants: list[Constant]) -> None:
    assert read_constants(_AtOnce(text)) == constants


@pytest.mark.parametrize("word", ["date", "Timestamp"])
def test_a_word_for_a_time_needs_a_string(word: str) -> None:
    with pytest.raises(FilterError, match=f"expected a string after {word.upper()}, but found 5"):
        read_constant(Cursor(f"{word} 5"))


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("2024-02-29", "2024-02-29"),
        ("2024/02/28", None),
        ("2023-02-29", None),
        ("2024-2-028", None),
        ("0000-01-01", None),
    ],
)
def test_a_constant_is_a_day_of_the_calendar_or_none(text: str, day: str | None) -> None:
    assert values.day(text) == day
