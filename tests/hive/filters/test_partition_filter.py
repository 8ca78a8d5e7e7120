"""What is read of a table for a filter."""

import pytest

from hive.filters.bounds import Span
from hive.filters.partition_filter import by_filter
from hive.filters.semantics import PartitionKey
from hive.names import DEFAULT_PARTITION
from tests.hive.filters.narrowing import narrowed

KEYS = PartitionKey("s", "string"), PartitionKey("d", "date")
OF_X = [("x", "2024-01-02"), ("x", DEFAULT_PARTITION)]
NO_DATE = ("y", "2020-02-30")


@pytest.mark.parametrize(
    "text",
    [
        "s = 'x' and d >= '2024-01-01'",
        "d >= '2024-01-01' and s <= 'x'",
        "s = 'x' and d != '2023-01-01'",
        "(s) in ('x', 'z') and d between '2024-01-01' and '2024-02-01'",
    ],
)
def test_a_value_that_is_no_date_refuses_a_filter_wherever_it_is(text: str) -> None:
    """The metastore may then compare all dates as texts, in whichever partition it is."""
    assert narrowed(text, KEYS, OF_X) == OF_X[:1]
    assert narrowed(text, KEYS, [*OF_X, NO_DATE]) is None
    assert by_filter(text, KEYS).plain_spans != [Span(())]


@pytest.mark.parametrize(
    ("text", "expected"), [("s = 'x'", OF_X), ("s = 'x' and d = '2024-01-02'", OF_X[:1])]
)
def test_texts_and_equal_dates_are_looked_for_in_ranges(
    text: str, expected: list[tuple[str, str]]
) -> None:
    assert narrowed(text, KEYS, [*OF_X, NO_DATE]) == expected
