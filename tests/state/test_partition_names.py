"""Names that are made of many keys at once are those that would be made of each."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive.names import partition_name
from state import keys
from state.partition_names import names_of

COLUMNS = ("Ds", "100%", "hr")
characters = st.sampled_from("ab1-é\n\x00\x01=/%,\xff")
texts = st.text(characters, min_size=1, max_size=3) | st.sampled_from(["1", "2026-10-15"])


@pytest.mark.parametrize("count", [1, 2, 3])
@given(data=st.data())
def test_names_are_those_of_each(count: int, data: st.DataObject) -> None:
    columns = COLUMNS[:count]
    rows = data.draw(st.lists(st.lists(texts, min_size=count, max_size=count), max_size=4))
    many = [keys.texts(tuple(row)) for row in rows]
    assert names_of(columns, many) == [partition_name(columns, row) for row in rows]


@pytest.mark.parametrize("values", [("",), ("", "1"), ("1", ""), ("", "")])
def test_an_empty_value_is_named(values: tuple[str, ...]) -> None:
    columns = COLUMNS[: len(values)]
    many = [keys.texts(values), keys.texts(("2",) * len(values))]
    assert names_of(columns, many)[0] == partition_name(columns, values)
