"""What a shard stores is read as it was written, and present stores stay readable."""

from hypothesis import given
from hypothesis import strategies as st

from state.records.objects import (
    ColumnStatisticsImage,
    ConstraintImage,
    ConstraintKind,
    NameImage,
)
from state.stored_values import (
    StoredName,
    constraint_columns,
    constraint_data,
    name_data,
    statistics_data,
    stored_name,
    stored_statistics,
)

LONGS = st.integers(-(2**63), 2**63 - 1)
TEXTS = st.text(st.characters(codec="utf-8"), max_size=8)
LINES = st.tuples(TEXTS, st.none() | TEXTS, st.none() | TEXTS, st.integers(0, 2**31 - 1))


@given(TEXTS, LINES)
def test_a_name_comes_back(table: str, line: tuple[str, str | None, str | None, int]) -> None:
    assert stored_name(name_data(NameImage(table, *line))) == StoredName(*line)


@given(st.sampled_from(ConstraintKind), TEXTS, st.lists(st.binary(max_size=8)).map(tuple))
def test_a_constraint_comes_back(
    kind: ConstraintKind, name: str, columns: tuple[bytes, ...]
) -> None:
    assert constraint_columns(constraint_data(ConstraintImage(kind, name, columns))) == columns


@given(LONGS, st.binary(max_size=20))
def test_statistics_come_back(analyzed: int, data: bytes) -> None:
    image = ColumnStatisticsImage(None, "hive", "a", 1, analyzed, data)
    assert stored_statistics(statistics_data(image)) == (analyzed, data)


def test_the_bytes_are_those_of_present_stores() -> None:
    name = NameImage("t", "VIEW", "amy", None, 1)
    assert name_data(name) == b"\x94\xa4VIEW\xa3amy\xc0\x01"
    key = ConstraintImage(ConstraintKind.PRIMARY_KEY, "k", (b"a", b"bc"))
    assert constraint_data(key) == b"\x92\xc4\x01a\xc4\x02bc"
    figures = ColumnStatisticsImage(None, "hive", "a", 1, 258, b"figures")
    assert statistics_data(figures) == b"\0\0\0\0\0\0\1\2figures"
