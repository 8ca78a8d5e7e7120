"""What databases can't show: refusals, limits, and values that can't be compared."""

import pytest

from hive.errors import FilterNotSupportedError
from hive.filters.parser import MAX_NESTING
from hive.filters.partition_filter import by_filter
from hive.filters.predicate import MAX_TESTS
from hive.filters.semantics import PartitionKey
from hive.names import DEFAULT_PARTITION

KEYS = [
    PartitionKey("s", "varchar(10)"),
    PartitionKey("n", "INTEGER"),
    PartitionKey("d", "date"),
    PartitionKey("x", "decimal(10,2)"),
]


def passes(text: str, *values: str) -> bool:
    defaults = ("s", "1", "2024-01-01", "1.5")
    return by_filter(text, KEYS).matches((*values, *defaults[len(values) :]))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "unknown = 1",
            "'unknown' at character 0: it is no key of the table, whose keys are: s, n",
        ),
        (
            "s = 'a' and x = 1",
            "'x' at character 12: the metastore filters by no key of type decimal",
        ),
        ("n = '1'", "'1' is not a whole number, as the key's type wants"),
        ("s = 1", "1 is not a string, as the key's type wants"),
        ("d = '2024-1-1'", "'2024-1-1' is not a date, as the key's type wants"),
        ("d = 20240101", "20240101 is not a date, as the key's type wants"),
        ("d like '2024-01-01'", "LIKE wants a key that is a string"),
        ("(struct(s, n)) in (struct('a', 1), struct('b', 'c'))", "'n' at character 11: 'c' is not"),
    ],
)
def test_what_the_metastore_would_not_evaluate_in_sql_is_refused(text: str, message: str) -> None:
    with pytest.raises(FilterNotSupportedError) as caught:
        by_filter(text, KEYS)
    assert message in str(caught.value)


def test_a_table_without_keys_has_nothing_to_filter_by() -> None:
    with pytest.raises(FilterNotSupportedError, match="whose keys are: none"):
        by_filter("s = 1", [])


@pytest.mark.parametrize("text", ["n > 1", "n != 1", "1 >= n", "n not between 1 and 2"])
@pytest.mark.parametrize(
    "value",
    [
        "abc",
        "1.5.2",
        "1e",
        ".",
        "",
        "١",
        "1_0",
        "9" * 22,
        "1e21",
        "1e999",
        "NaN",
        "0x1",
        f"{'9' * 21}.5",
    ],
)
def test_a_value_that_databases_read_in_different_ways_is_refused(text: str, value: str) -> None:
    with pytest.raises(FilterNotSupportedError, match="wants a whole number"):
        passes(text, "s", value)


@pytest.mark.parametrize(
    "value",
    [
        "20240230",
        "2024-02-30",
        "today",
        "0000-01-01",
        "2024-01-01 24:00:00",
        "2024-01-01 23:60:00",
        "2024-01-01 23:59:60",
    ],
)
def test_so_is_a_date(value: str) -> None:
    with pytest.raises(FilterNotSupportedError, match="wants a date"):
        passes("d > 2024-01-01", "s", "1", value)


@pytest.mark.parametrize(
    ("value", "is_equal"),
    [("2024-01-05", True), ("2024-01-05 10:00:00", True), ("2024-1-5", False), ("20240105", False)],
)
def test_a_date_that_is_equal_begins_like_the_constant(value: str, is_equal: bool) -> None:
    """The metastore also asks that the partition's name be like `…d=2024-01-05%`."""
    assert passes("d = 2024-01-05", "s", "1", value) is is_equal


@pytest.mark.parametrize("keys", [("s", "n"), ("n", "s"), ("n", "s", "d"), ("s", "n", "d")])
def test_what_an_escape_in_the_constants_name_matches_as_a_wildcard_is_left_out(
    keys: tuple[str, ...],
) -> None:
    """The metastore asks that the partition's name be not like `…s=a%3Ab…`."""
    matches = by_filter("s != 'a:b'", [PartitionKey(key, "string") for key in keys]).matches
    passed = [
        text
        for text in ("a:b", "a-3Ab", "a3A", "b")
        if matches([text if k == "s" else "" for k in keys])
    ]
    assert passed == ["a3A", "b"]


def test_it_is_not_looked_at_where_the_filter_is_decided_before() -> None:
    assert not passes("s = 'other' and n > 1", "s", "abc")
    assert passes("s = 's' or n > 1", "s", "abc")
    assert passes("s = 'other' or n > 1", "s", "2")
    assert not passes("n = 1", "s", "abc")


@pytest.mark.parametrize("text", ["n > 0", "n < 0", "n != 1", "n = 1", "(n = 1) is false"])
def test_a_key_without_value_is_in_no_comparison(text: str) -> None:
    assert not passes(text, "s", DEFAULT_PARTITION)
    assert not passes(f"({text}) is not true", "s", DEFAULT_PARTITION)


def test_any_number_of_texts_counts_together() -> None:
    texts = ", ".join(f"'{number}'" for number in range(5_000))
    assert passes(f"(s) in ({texts})", "4999")
    assert not passes(f"(s) in ({texts})", "5000")
    assert passes(f"(s) not in ({texts})", "5000")
    pairs = " or ".join(f"(s = '{number % 100}' and n = {number})" for number in range(3_000))
    assert passes(pairs, "99", "1099")
    assert not passes(pairs, "98", "1099")


def test_comparisons_that_each_partition_goes_through_are_limited() -> None:
    allowed = " or ".join(["n > 1"] * MAX_TESTS)
    assert not passes(allowed)
    with pytest.raises(FilterNotSupportedError, match=f"more than {MAX_TESTS} comparisons"):
        passes(f"{allowed} or n > 1")


@pytest.mark.parametrize("inner", ["n > 1", "s = 'x' and n = 1", "d = 2024-01-01"])
def test_the_deepest_filter_leaves_room_on_the_stack(inner: str) -> None:
    text = inner
    for number in range(MAX_NESTING):
        text = f"n < {number} and ({text} or s = '{number}')"
    assert not passes(text)


@pytest.mark.parametrize("key", ["k_1", "k_1_x"])
def test_unequal_drops_what_the_test_of_the_name_takes_for_the_key(key: str) -> None:
    keys = [PartitionKey(name, "string") for name in ("a", "k_1", "kx1", "k_1_x", "k", "x", "z")]
    matches = by_filter(f"{key} != 'v'", keys).matches
    assert matches(("a", "b", "c", "d", "1", "e", "v"))
    assert not matches(("a", "b", "v", "d", "1", "v", "v"))


def test_a_key_whose_name_differs_in_one_character_is_taken_for_the_key() -> None:
    keys = [PartitionKey(name, "string") for name in ("a", "kx1", "k_1", "z")]
    matches = by_filter("k_1 != 'v'", keys).matches
    assert matches(("v", "b", "c", "v"))
    assert not matches(("a", "v", "c", "d"))
