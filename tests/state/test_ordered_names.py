"""Names in order are those that sorting all of them would give."""

from bisect import bisect_left
from collections.abc import Set
from itertools import islice, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive.errors import NameFormatError
from hive.names import partition_name
from state import keys, ordered_names
from state.ordered_names import NamesAfter

STEM = b"pstem"
COLUMNS = ("Ds", "hr")
characters = st.sampled_from("ab1-:/% é")
texts = st.text(characters, min_size=1, max_size=3) | st.sampled_from(["1", "10", "a", "ab"])
rows = st.sets(st.tuples(texts, texts), max_size=12)


class Keys:
    """The keys of partitions, and of what is beside them in the store."""

    def __init__(self, many: Set[tuple[str, ...]]) -> None:
        own = [STEM + keys.texts(values) for values in many]
        self.keys = sorted([b"pstel\xff", *own, b"psten"])
        self.calls = self.read = 0

    def __call__(self, start: bytes, end: bytes, most: int) -> list[bytes]:
        assert start < end
        assert most > 0
        first, last = bisect_left(self.keys, start), bisect_left(self.keys, end)
        some = self.keys[first:last][:most]
        self.calls += 1
        self.read += len(some)
        return some


def names_of(many: Set[tuple[str, ...]], prefix: tuple[str, ...]) -> list[str]:
    return sorted(
        partition_name(COLUMNS, values) for values in many if values[: len(prefix)] == prefix
    )


def named_after(
    many: Set[tuple[str, ...]], prefix: tuple[str, ...], after: str, at_once: int
) -> list[str] | None:
    names = NamesAfter(STEM, COLUMNS, prefix, after).in_order(Keys(many), at_once)
    return None if names is None else list(names)


@given(rows, st.integers(1, 5), st.data())
def test_they_are_the_sorted_names(
    many: set[tuple[str, ...]], at_once: int, data: st.DataObject
) -> None:
    firsts = sorted({values[:1] for values in many})
    prefix = data.draw(st.sampled_from([(), *firsts]))
    names = names_of(many, prefix)
    of_anything = st.lists(texts, min_size=1, max_size=2).map(
        lambda values: partition_name(COLUMNS[: len(values)], values)
    )
    after = data.draw(st.one_of(st.just(""), st.sampled_from(names or [""]), of_anything))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ordered_names, "AT_ONCE", at_once)
        patch.setattr(ordered_names, "_EMPTY_RANGES_MAX", at_once)
        ordered = named_after(many, prefix, after, at_once)
    if ordered is None:
        assert after
    else:
        assert ordered == [name for name in names if name > after]


@pytest.mark.parametrize("hours", [10, 24])
def test_of_usual_tables_no_more_is_read_than_is_asked_for(hours: int) -> None:
    many = {
        (f"2026-{month:02d}-{day:02d}", str(hour))
        for month in range(1, 13)
        for day in range(1, 29)
        for hour in range(hours)
    }
    names, read = names_of(many, ()), Keys(many)
    for after, size in (("", 100), (names[50], 1), (names[2_000], 1_000), ("ds=2026-02-01", 9)):
        ordered = NamesAfter(STEM, COLUMNS, (), after).in_order(read, size)
        assert ordered is not None
        later = [name for name in names if name > after]
        assert list(islice(ordered, size)) == later[:size]
    assert read.read == 100 + 1 + 1_000 + 9


def test_a_batch_goes_on_until_no_later_name_is_less() -> None:
    many = {*product(["a", "a-b", "b"], map(str, range(50)))}
    names, read = names_of(many, ()), Keys(many)
    assert names[0].startswith("ds=a-b/")
    ordered = NamesAfter(STEM, COLUMNS, (), "").in_order(read, 1)
    assert ordered is not None
    assert list(ordered) == names


def test_after_some_names_only_all_tell() -> None:
    many = {("a", "1"), ("a", "2"), ("a-b", "1"), ("b", "1")}
    names = names_of(many, ())
    assert names == ["ds=a-b/hr=1", "ds=a/hr=1", "ds=a/hr=2", "ds=b/hr=1"]
    after = [named_after(many, (), name, 1) for name in names]
    assert after == [None, names[2:], names[3:], []]
    assert named_after(many, ("a",), "", 1) == names[1:3]


@pytest.mark.parametrize(
    "after",
    ["nothing", "ds=", "ds=1/", "hr=1", "hr=1/ds=1", "DS=1/hr=1", "ds=1:0/hr=1", "ds=%00/hr=1"],
)
def test_after_a_name_in_another_spelling_only_all_tell(after: str) -> None:
    assert named_after({("1", "1")}, (), after, 1) is None


def test_a_name_that_no_partition_can_have_costs_no_look() -> None:
    read = Keys({("1", "1")})
    assert NamesAfter(STEM, COLUMNS, (), f"ds={'!' * 30_000}/hr=1").in_order(read) is None
    assert not read.calls


def test_values_of_another_number_have_no_name() -> None:
    with pytest.raises(NameFormatError, match="give one value for each of the keys"):
        named_after({("1", "1"), ("1",)}, (), "", 3)


def test_pages_follow_each_other() -> None:
    many = {*product("012345678", "ab")}
    after, read = "", list[str]()
    while page := (named_after(many, (), after, 5) or [])[:5]:
        read += page
        after = page[-1]
    assert read == names_of(many, ())
