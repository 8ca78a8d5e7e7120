"""Hive's patterns of names."""

from fnmatch import fnmatchcase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive.errors import PatternError
from hive.patterns import (
    MAX_CHARACTERS,
    REQUEST_PARTS_MAX,
    compile_pattern,
    compile_request_pattern,
)


@pytest.mark.parametrize(
    ("pattern", "names", "others"),
    [
        ("*", ["", "a", "a\nb"], []),
        ("A*", ["a", "ab"], ["ba", ""]),
        ("a|b*c", ["a", "bc", "bxc"], ["ab", "abc"]),
        (" a | b ", ["a", "b"], [" a "]),
        ("a.b", ["a.b"], ["axb"]),
        ("a**b", ["ab", "axb"], ["a"]),
        ("", [""], ["a"]),
    ],
)
def test_what_patterns_match(pattern: str, names: list[str], others: list[str]) -> None:
    match = compile_pattern(pattern).fullmatch
    assert [name for name in names if not match(name)] == []
    assert [name for name in others if match(name)] == []


@given(st.text("ab*."), st.text("ab"))
def test_dots_match_as_question_marks_of_the_shell(pattern: str, name: str) -> None:
    match = compile_pattern(pattern, with_dots=True).fullmatch(name)
    assert bool(match) == fnmatchcase(name, pattern.replace(".", "?"))


@given(st.text("ab*"), st.text("ab"))
def test_stars_match_as_those_of_the_shell(pattern: str, name: str) -> None:
    assert bool(compile_pattern(pattern).fullmatch(name)) == fnmatchcase(name, pattern)


@given(st.text("ab|*.([\\"), st.text("ab.([\\"))
def test_all_but_stars_and_bars_stands_for_itself(pattern: str, name: str) -> None:
    alternatives = [one for one in pattern.split("|") if "*" not in one]
    if name in alternatives:
        assert compile_pattern(pattern).fullmatch(name)


def test_no_pattern_makes_it_try_everything() -> None:
    assert not compile_pattern("*a" * 100 + "*b").fullmatch("a" * 50_000)


def test_long_patterns_are_refused_in_short() -> None:
    with pytest.raises(PatternError, match=f"more than {MAX_CHARACTERS} characters") as caught:
        compile_pattern("a" * 1_000_000)
    assert len(str(caught.value)) < 100


@pytest.mark.parametrize("part", ["|", "*"])
def test_a_request_has_a_pattern_of_few_parts(part: str) -> None:
    assert compile_request_pattern(part * REQUEST_PARTS_MAX).fullmatch("")
    many = part * (REQUEST_PARTS_MAX + 1)
    with pytest.raises(PatternError, match=f"more than {REQUEST_PARTS_MAX}"):
        compile_request_pattern(many)
    assert compile_pattern(many).fullmatch("")
