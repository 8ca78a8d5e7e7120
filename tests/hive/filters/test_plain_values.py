"""That ranges of numbers and dates change nothing but how much is read."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive.collation import UNKNOWN
from hive.errors import UncertainOrderError
from hive.filters.partition_filter import by_filter
from hive.filters.plain_values import of_integers, unplain_keys
from hive.filters.semantics import PartitionKey
from hive.names import DEFAULT_PARTITION
from tests.hive.filters.corpus import OPERATORS
from tests.hive.filters.narrowing import Partition, holds, narrowed, unless_refused

TYPES = ["int", "date", "timestamp"]
ODD = ["", "abc", "today", "1_0", "0x10", "12abc", "NaN", "~", "-", "--1", "1\n", "٣", "9" * 22]
ODD_DAYS = ["2024-02-30", "2024-13-01", "2024-01-05T10:00:00Z", "20240230", "2024-005"]
SPELLED = {
    "int": ["+7", " 4", "007", "-0", "1.5", "5e-3", "6e-1", "-6e-1", "1e1", "99e-1", "12.0"],
    "date": ["2024-1-5", "20240105", "2024-01-05 10:00:00", "2024-01-5"],
    "timestamp": ["2024-01-05", "2024-01-05T10:00", "2024-1-5 10:00:00", "2024-01-05 1:00:00"],
}
EDGES = [0, 1, -1, 9, 10, 99, 100, 999, 1000, -10, -1000, 50_000, 99_999, 2**63 - 1, -(2**63)]


def days() -> st.SearchStrategy[str]:
    years = st.sampled_from(["0001", "1999", "2023", "2024", "9999"])
    months = st.sampled_from(["01", "02", "09", "10", "12"])
    numbers = st.sampled_from(["01", "02", "05", "09", "10", "19", "20", "28"])
    return st.tuples(years, months, numbers).map("-".join)


def moments() -> st.SearchStrategy[str]:
    times = st.sampled_from(["00:00:00", "10:00:00", "23:59:59"])
    return st.tuples(days(), times).map(" ".join)


def plain(type_: str) -> st.SearchStrategy[str]:
    if type_ == "int":
        return (st.integers(-1200, 1200) | st.sampled_from(EDGES)).map(str)
    if type_ == "date":
        return days()
    fractions = st.sampled_from(["", "", ".0", ".5", ".000001"])
    return st.tuples(moments(), fractions).map("".join)


def values(type_: str) -> st.SearchStrategy[str]:
    """Plain values, and a few of all others."""
    odd = [*ODD, *ODD_DAYS, *SPELLED[type_], DEFAULT_PARTITION, DEFAULT_PARTITION]
    return st.one_of(*[plain(type_)] * 9, st.sampled_from(odd))


def constants(type_: str) -> st.SearchStrategy[str]:
    if type_ == "int":
        return plain("int")
    return (days() if type_ == "date" else moments()).map("'{}'".format)


@st.composite
def filters(draw: st.DrawFn, type_: str) -> str:
    def comparison() -> str:
        key = draw(st.sampled_from("kkkns"))
        if key == "s":
            return f"s {draw(st.sampled_from(OPERATORS))} '{draw(st.sampled_from('ab'))}'"
        constant = constants(type_ if key == "k" else "int")
        match draw(st.integers(0, 3)):
            case 0:
                return f"{key} between {draw(constant)} and {draw(constant)}"
            case 1:
                return f"{key} not between {draw(constant)} and {draw(constant)}"
            case 2:
                return f"({key}) in ({draw(constant)}, {draw(constant)})"
        return f"{key} {draw(st.sampled_from(OPERATORS))} {draw(constant)}"

    text = f"({comparison()})"
    for _ in range(draw(st.integers(0, 3))):
        text = f"({text} {draw(st.sampled_from(['and', 'and', 'or']))} ({comparison()}))"
    return text


def columns(type_: str) -> tuple[PartitionKey, ...]:
    return PartitionKey("k", type_), PartitionKey("n", "int"), PartitionKey("s", "string")


def partitions(type_: str) -> st.SearchStrategy[list[Partition]]:
    rows = st.tuples(values(type_), values("int"), st.sampled_from("ab"))
    return st.lists(rows, max_size=12, unique=True)


@pytest.mark.parametrize("type_", TYPES)
@given(data=st.data())
def test_the_same_is_found_and_refused_as_without_ranges(type_: str, data: st.DataObject) -> None:
    stored = data.draw(partitions(type_))
    text = data.draw(filters(type_))
    wanted = by_filter(text, columns(type_))
    read = [row for row in stored if any(holds(span, row) for span in wanted.spans)]
    whole = unless_refused(lambda: filter(wanted.matches, read))
    assert narrowed(text, columns(type_), stored) == whole


@pytest.mark.parametrize("type_", TYPES)
@given(data=st.data())
def test_the_same_is_found_where_the_order_of_texts_is_unsure(
    type_: str, data: st.DataObject
) -> None:
    """Partitions outside of the ranges fail, so that it doesn't matter how their texts compare."""
    stored = data.draw(partitions(type_))
    wanted = by_filter(data.draw(filters(type_)), columns(type_), UNKNOWN)
    if not unplain_keys(columns(type_), stored).isdisjoint(wanted.cast):
        return
    in_ranges = [row for row in stored if any(holds(span, row) for span in wanted.plain_spans)]
    try:
        whole = list(filter(wanted.matches, stored))
    except UncertainOrderError:
        return
    assert list(filter(wanted.matches, in_ranges)) == whole


@pytest.mark.parametrize("type_", TYPES)
@given(data=st.data())
def test_plain_values_are_never_refused(type_: str, data: st.DataObject) -> None:
    stored = data.draw(partitions(type_))
    wanted = by_filter(data.draw(filters(type_)), columns(type_))
    if unplain_keys(columns(type_), stored).isdisjoint(wanted.cast):
        assert unless_refused(lambda: filter(wanted.matches, stored)) is not None


@given(*[st.integers(-1200, 1200) | st.sampled_from(EDGES)] * 3, st.sampled_from(["", "0", "00"]))
def test_every_plain_spelling_of_a_number_is_in_a_range(
    number: int, low: int, high: int, zeros: str
) -> None:
    low, high = min(low, number), max(high, number)
    spelled = f"{'-' if number < 0 else ''}{zeros}{abs(number)}"
    for region in (of_integers(low, high), of_integers(low, None), of_integers(None, high)):
        for text in [spelled] if number else [spelled, f"-{spelled}"]:
            assert any(least <= text and (most is None or text < most) for least, most in region)


@pytest.mark.parametrize(
    ("type_", "plain_values", "others"),
    [
        ("int", ["0", "-5", "007", "-0", DEFAULT_PARTITION], ["", "+7", " 4", "1.5", "1e1", "٣"]),
        ("bigint", [str(2**63 - 1), "9" * 21], ["9" * 22, "12abc"]),
        ("date", ["2024-02-29", DEFAULT_PARTITION], ["2023-02-29", "20240105", "2024-1-5"]),
        ("timestamp", ["2024-02-29 10:00:00", "2024-02-29 10:00:00.5"], ["2024-02-29"]),
        ("string", ["", "abc"], []),
        ("decimal(10,2)", ["", "abc"], []),
    ],
)
def test_what_is_plain(type_: str, plain_values: Sequence[str], others: Sequence[str]) -> None:
    keys = [PartitionKey("s", "string"), PartitionKey("k", type_)]
    assert unplain_keys(keys, [("x", value) for value in plain_values]) == frozenset()
    for value in others:
        assert unplain_keys(keys, [("x", plain_values[0]), ("x", value)]) == {1}


def test_a_value_that_is_missing_is_not_plain() -> None:
    assert unplain_keys([PartitionKey("s", "string"), PartitionKey("k", "int")], [("x",)]) == {1}
