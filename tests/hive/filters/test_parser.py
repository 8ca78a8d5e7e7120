"""The grammar, its errors and its limits. What it means is held against databases elsewhere."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive.errors import FilterError
from hive.filters.constants import MAX_STRING
from hive.filters.expressions import (
    And,
    Comparison,
    Constant,
    Expression,
    InList,
    Operator,
    Or,
    comparisons,
)
from hive.filters.parser import MAX_CHARACTERS, MAX_COMPARISONS, MAX_NESTING, parse_filter


def one(key: str, operator: str, constant: Constant, place: int = 0) -> Comparison:
    return Comparison(key, Operator(operator), constant, place)


def brief(expression: Expression) -> object:
    """Without places, to be read at a glance."""
    match expression:
        case And(terms):
            return ("and", *map(brief, terms))
        case Or(terms):
            return ("or", *map(brief, terms))
        case InList():
            return ("in", *map(brief, expression.as_or().terms))
        case Comparison(key, operator, constant):
            return f"{key} {operator.value} {constant!r}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ("and",)),
        ("a = 'x'", "a = 'x'"),
        ("A=='x'", "a = 'x'"),
        ("`a``b` <> 1", "a`b != 1"),
        ("`date` = '='", "date = '='"),
        ("1 < a", "a > 1"),
        ("- 007 >= a", "a <= -7"),
        ("2024 = 2024", None),
        ("2024_ = 2024", "2024_ = 2024"),
        ("a = 2024-02-29", "a = '2024-02-29'"),
        ("a = 2024-01-02 03:04:05", "a = '2024-01-02 03:04:05'"),
        ("a = TIMESTAMP '2024-01-02 03:04:05'", "a = '2024-01-02 03:04:05'"),
        ("a = 1 and b = 2 or c = 3", ("or", ("and", "a = 1", "b = 2"), "c = 3")),
        ("a = 1 and (b = 2 or c = 3)", ("and", "a = 1", ("or", "b = 2", "c = 3"))),
        ("((a = 1) and (b = 2 and (c = 3)))", ("and", "a = 1", "b = 2", "c = 3")),
        ("a not between 1 and 2 or b = 3", ("or", "a < 1", "a > 2", "b = 3")),
        ("a between 1 and 2 and b = 3", ("and", "a >= 1", "a <= 2", "b = 3")),
        ("(a) in (1, 2)", ("in", "a = 1", "a = 2")),
        ("(a) in (1)", "a = 1"),
        ("(a) in (1, 2) or b = 3", ("or", "a = 1", "a = 2", "b = 3")),
        ("(a) in (1, 2) and b = 3", ("and", ("in", "a = 1", "a = 2"), "b = 3")),
        ("(a) in (1, 2) is not true", ("and", "a != 1", "a != 2")),
        ("((a) in (1, 2)) is false", ("and", "a != 1", "a != 2")),
        ("(a) not in (1, 2) is false", ("in", "a = 1", "a = 2")),
        ("((a) not in (1, 2))", ("and", "a != 1", "a != 2")),
        (
            "(struct(a, b)) not in (struct(1, 2), const struct(3, 4))",
            ("and", ("or", "a != 1", "b != 2"), ("or", "a != 3", "b != 4")),
        ),
        ("(a = 1 or b < 2) is false", ("and", "a != 1", "b >= 2")),
        ("((a = 1) is not true) is false", "a = 1"),
        ("(1 = a and 2 <> b) is not true", ("or", "a != 1", "b = 2")),
        ("(1 < a and 2 >= b) is not false", ("and", "a > 1", "b <= 2")),
    ],
)
def test_what_a_filter_says(text: str, expected: object) -> None:
    if expected is None:
        with pytest.raises(FilterError):
            parse_filter(text)
    else:
        assert brief(parse_filter(text)) == expected


def test_each_comparison_knows_its_place() -> None:
    mirrored = Comparison("b", Operator.GT, 2, 10, is_mirrored=True)
    assert parse_filter("a = 1 and 2 < b") == And((one("a", "=", 1), mirrored))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a = 'x", "at character 4 of \"a = 'x\": the ' that opens here is never closed"),
        ("a = 1 or", "at character 8 of 'a = 1 or': expected a key, a constant or (, but the"),
        ("a is true", "at character 2 of 'a is true': expected an operator, but found IS"),
        ("a in (1)", "write the key before IN in brackets: (a) IN (…)"),
        ("(a = 1", "expected AND, OR or ), but the filter ends"),
        ("a = 1)", "expected AND, OR or the end, but found )"),
        ("a = 1;", "leave the semicolon out"),
        ("a <=> 1", "the metastore evaluates no <=>; write ="),
        ("'x' like a", "LIKE wants the key on its left"),
        ("(a like 'x') is false", "LIKE can't be negated by IS"),
        ("(a) not in (1) is not true", "NOT IN can't be followed by IS NOT"),
        ("(1 < a) is false", "at character 1 of '(1 < a) is false': what IS negates wants the key"),
        ("(a = 1 or (2 >= b)) is not true", "at character 11 of"),
        ("((1 <= a) is not true) is false", "what IS negates wants the key on its left"),
        ("a = date '2024-02-30'", "'2024-02-30' is no DATE of the calendar"),
        ("a = timestamp '2024-02-03'", "is no TIMESTAMP of the calendar"),
        ("a = 9223372036854775808", "a whole number has at most 64 bits"),
        ("(struct(a)) in (struct(1))", "expected ,, but found )"),
        ("(struct(a)) in (struct(1, 2), struct(3))", "2 constants for 1 keys"),
        ("(struct(`a`)) in (struct(1), struct(2))", "no quoted key in STRUCT"),
        ("a `=` 1", "expected an operator, but found ="),
        ("a = - 'x'", "expected a whole number"),
        ("(a = 1) is maybe", "expected TRUE or FALSE"),
    ],
)
def test_errors_say_where_and_what_was_expected(text: str, message: str) -> None:
    with pytest.raises(FilterError) as caught:
        parse_filter(text)
    assert message in str(caught.value)
    assert len(str(caught.value)) < 250


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a = '" + "x" * (1 << 20) + "'", f"at most {MAX_CHARACTERS} characters, this one 1048582"),
        ("(" * MAX_CHARACTERS, f"brackets nest at most {MAX_NESTING} deep"),
        ("a = 1 and (" * 5_000, f"brackets nest at most {MAX_NESTING} deep"),
        (f"(a) in (1{',1' * MAX_COMPARISONS})", f"at most {MAX_COMPARISONS} comparisons"),
        ("((a) in (1" + ",1" * 6_000 + ")) is false", f"at most {MAX_COMPARISONS} comparisons"),
        ("a = '" + "x" * MAX_STRING, "is never closed"),
        ("a = '" + "x" * MAX_STRING + "'", f"a string has at most {MAX_STRING} characters"),
        ("a = " + "'' " * MAX_STRING, f"a string has at most {MAX_STRING} characters"),
        ("a = '" + "\\" * 100_000, "is never closed"),
        ("`" * 100_001, "is never closed"),
        ("a = " + "9" * 100_000, "at most 64 bits"),
        ("=" * MAX_CHARACTERS, "expected a key"),
    ],
)
def test_huge_filters_are_refused_in_short(text: str, message: str) -> None:
    with pytest.raises(FilterError) as caught:
        parse_filter(text)
    assert message in str(caught.value)
    assert len(str(caught.value)) < 250


def test_at_the_limits_all_is_well() -> None:
    deep = "(" * MAX_NESTING + "a = 1" + ")" * MAX_NESTING
    assert brief(parse_filter(deep)) == "a = 1"
    wide = " or ".join(["a = 1"] * MAX_COMPARISONS)
    assert len(wide) <= MAX_CHARACTERS
    expression = parse_filter(wide)
    assert isinstance(expression, Or)
    assert len(expression.terms) == MAX_COMPARISONS
    long = "x" * (MAX_STRING - 2)
    assert brief(parse_filter(f"a = '{long}'")) == f"a = '{long}'"


WORDS = st.sampled_from(
    [
        *("a", "b", "1", "2024-01-01", "'x'", "`a`", "`", "'", '"', ";", "\\", "/", "é", "\0", " "),
        *("(", ")", ",", "-", "=", "<", ">", "<=", "<>", "<=>", "and", "or", "not", "between"),
        *("in", "struct", "const", "date", "timestamp", "like", "is", "true", "false"),
    ]
)


@given(st.one_of(st.text(), st.lists(WORDS).map(" ".join), st.lists(WORDS).map("".join)))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        expression = parse_filter(text)
    except FilterError:
        return
    assert brief(expression)


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("", ""),
        ("a = 'x'", "a"),
        ("a like 'x' and (d) in (1, 2) or (b = 'y' or c = 1 and a > 'z')", "adbca"),
    ],
)
def test_comparisons_are_found_wherever_they_are(text: str, keys: str) -> None:
    assert [compared.key for compared in comparisons(parse_filter(text))] == [*keys]
