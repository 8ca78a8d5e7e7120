"""A list of constants means what its comparisons mean, one by one."""

from typing import Final

from hypothesis import example, given
from hypothesis import strategies as st

from hive.errors import FilterNotSupportedError
from hive.filters.bounds import Span
from hive.filters.partition_filter import PartitionFilter, by_filter
from hive.filters.semantics import PartitionKey
from hive.names import DEFAULT_PARTITION

TEXTS: Final = ("", "a", "b", "a_", "A", "a/b", "7", "07", "2024-02-29", DEFAULT_PARTITION)
NUMBERS: Final = (0, 7, -7, 70)
DATES: Final = ("2024-02-29", "2024-03-01")
TYPES: Final = ("string", "int", "date", "timestamp", "double")
NAMES: Final = ("a", "k_", "ks", "k")
FORMS: Final = ("{}", "{} and a = 'a'", "{} or a = 'a'")

texts = st.sampled_from(TEXTS).map(lambda text: f"'{text}'")
numbers = st.sampled_from(NUMBERS).map(str)
dates = st.sampled_from(DATES).map(lambda date: f"DATE '{date}'")
constants = st.one_of(
    *(st.lists(of_kind, min_size=1, max_size=6) for of_kind in (texts, numbers, dates)),
    st.lists(texts | numbers | dates, min_size=1, max_size=4),
)
keys = st.lists(
    st.builds(PartitionKey, st.sampled_from(NAMES), st.sampled_from(TYPES)),
    min_size=1,
    max_size=len(NAMES),
    unique_by=lambda key: key.name,
)
rows = st.lists(
    st.sampled_from((*TEXTS, *map(str, NUMBERS), *DATES)),
    min_size=len(NAMES),
    max_size=len(NAMES),
)
TWINS: Final = [
    PartitionKey(name, type_)
    for name, type_ in (("a", "string"), ("k_", "int"), ("ks", "int"), ("b", "int"))
]
"""In the SQL of the metastore, the name of the second key matches that of the third, too."""


def compiled(text: str, table: list[PartitionKey]) -> PartitionFilter | str:
    """A filter, or why there is none."""
    try:
        return by_filter(text, table)
    except FilterNotSupportedError as error:
        return str(error).partition(": ")[2]


def passes(compiled_filter: PartitionFilter, row: list[str]) -> bool | str:
    """Whether a partition passes, or why that can't be told."""
    try:
        return compiled_filter.matches(row)
    except FilterNotSupportedError as error:
        return str(error)


def is_inside(spans: list[Span], row: list[str]) -> bool:
    """Whether a partition is looked at."""
    stored = [value or DEFAULT_PARTITION for value in row]
    return any(
        tuple(stored[: len(span.prefix)]) == span.prefix
        and (
            len(span.prefix) == len(stored)
            or span.low <= stored[len(span.prefix)] < (span.high or "\U0010ffff")
        )
        for span in spans
    )


@given(keys, st.integers(0, len(NAMES) - 1), constants, st.sampled_from(FORMS), rows)
@example(TWINS, 1, ["7", "8"], "{}", ["a", "07", "7", "1"])
@example([PartitionKey("k", "string")], 0, [f"'v{n}'" for n in range(600)], "{}", ["v5"] * 4)
@example([PartitionKey("k", "string")], 0, ["''", "'a'"], "{}", [""] * 4)
def test_a_list_means_its_comparisons(
    table: list[PartitionKey], number: int, of_list: list[str], form: str, row: list[str]
) -> None:
    key, row = table[number % len(table)].name, row[: len(table)]
    equalities = " or ".join(f"{key} = {constant}" for constant in of_list)
    listed = compiled(form.format(f"({key}) in ({', '.join(of_list)})"), table)
    compared = compiled(form.format(f"({equalities})"), table)
    if isinstance(listed, str) or isinstance(compared, str):
        assert listed == compared
        return
    assert passes(listed, row) == passes(compared, row)
    assert is_inside(listed.spans, row) == is_inside(compared.spans, row)
    assert is_inside(listed.plain_spans, row) == is_inside(compared.plain_spans, row)
    assert listed.cast == compared.cast
