"""LIKE against the plainest model: character by character, trying everything."""

from functools import cache

from hypothesis import given
from hypothesis import strategies as st

from hive.filters.like import like, literal_prefix


def model(pattern: str, text: str) -> bool:
    @cache
    def matches(at: int, place: int) -> bool:
        if at == len(pattern):
            return place == len(text)
        if pattern[at] == "%":
            return matches(at + 1, place) or (place < len(text) and matches(at, place + 1))
        if place == len(text):
            return False
        if pattern[at] == "\\":
            return pattern[at + 1] == text[place] and matches(at + 2, place + 1)
        return pattern[at] in ("_", text[place]) and matches(at + 1, place + 1)

    return matches(0, 0)


# As the lexer has them: a backslash never ends a string.
PATTERNS = st.lists(
    st.sampled_from(["a", "b", "%", "_", "\\%", "\\_", "\\\\", "\\a", "\n", "."])
).map("".join)
TEXTS = st.text("ab%_\\\n.")


@given(PATTERNS, TEXTS)
def test_like_matches_as_the_model(pattern: str, text: str) -> None:
    assert like(pattern)(text) == model(pattern, text)


@given(PATTERNS, TEXTS)
def test_what_matches_begins_with_the_literal_prefix(pattern: str, text: str) -> None:
    prefix, rest = literal_prefix(pattern)
    if model(pattern, text):
        assert text.startswith(prefix)
        assert rest or text == prefix


def test_no_pattern_makes_it_try_everything() -> None:
    assert not like("%a" * 200 + "b")("a" * 50_000)
    assert not like("%_a" * 150 + "b")("a" * 50_000)
