"""A page of names is what it is of all names in order, wherever it doesn't need all of them."""

from bisect import bisect_left
from collections.abc import Set
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive.names import partition_name
from state import keys, name_page
from state.name_page import NamePage

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
        self.read = 0

    def __call__(self, start: bytes, end: bytes, most: int) -> list[bytes]:
        assert start < end
        assert most > 0
        first, last = bisect_left(self.keys, start), bisect_left(self.keys, end)
        some = self.keys[first:last][:most]
        self.read += len(some)
        return some


def names_of(many: Set[tuple[str, ...]], prefix: tuple[str, ...]) -> list[str]:
    return sorted(
        partition_name(COLUMNS, values) for values in many if values[: len(prefix)] == prefix
    )


@given(rows, st.integers(1, 5), st.integers(1, 4), st.data())
def test_each_page_is_a_part_of_the_sorted_names(
    many: Set[tuple[str, ...]], most: int, at_once: int, data: st.DataObject
) -> None:
    firsts = sorted({values[:1] for values in many})
    prefix = data.draw(st.sampled_from([(), *firsts]))
    names = names_of(many, prefix)
    of_anything = st.tuples(texts, texts).map(lambda values: partition_name(COLUMNS, values))
    after = data.draw(st.one_of(st.just(""), st.sampled_from(names or [""]), of_anything))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(name_page, "_AT_ONCE_MAX", at_once)
        page = NamePage(STEM, COLUMNS, prefix, after, most).names(Keys(many))
    assert page is None or page == [name for name in names if name > after][:most]


@pytest.mark.parametrize("hours", [10, 24])
def test_usual_tables_are_read_page_by_page(hours: int) -> None:
    many = {
        (f"2026-{month:02d}-{day:02d}", str(hour))
        for month in range(1, 13)
        for day in range(1, 29)
        for hour in range(hours)
    }
    names, read = names_of(many, ()), Keys(many)
    for after, size in ((0, 100), (50, 1), (2_000, 1_000)):
        page = NamePage(STEM, COLUMNS, (), names[after - 1] if after else "", size)
        assert page.names(read) == names[after : after + size]
    assert read.read == 100 + 1 + 1_000


def test_what_a_page_lacks_is_among_all_names() -> None:
    many = {("a", "1"), ("a", "2"), ("a-b", "1"), ("b", "1")}
    names = names_of(many, ())
    pages = [NamePage(STEM, COLUMNS, (), after, 1).names(Keys(many)) for after in ["", *names[:-1]]]
    assert names == ["ds=a-b/hr=1", "ds=a/hr=1", "ds=a/hr=2", "ds=b/hr=1"]
    assert pages == [None, None, None, [names[3]]]
    assert NamePage(STEM, COLUMNS, ("a",), "", 1).names(Keys(many)) == [names[1]]


@pytest.mark.parametrize(
    "after", ["nothing", "ds=", "ds=1", "hr=1/ds=1", "DS=1/hr=1", "ds=1:0/hr=1", "ds=%00/hr=1"]
)
def test_after_a_name_in_another_spelling_only_all_tell(after: str) -> None:
    assert NamePage(STEM, COLUMNS, (), after, 1).names(Keys({("1", "1")})) is None


def test_values_of_another_number_are_in_no_page() -> None:
    many = {("1", "1"), ("1",)}
    with pytest.raises(Exception, match="give one value for each of the keys"):
        NamePage(STEM, COLUMNS, (), "", 3).names(Keys(many))


def test_pages_follow_each_other() -> None:
    many = {(str(first), str(second)) for first in range(9) for second in "ab"}
    names, after, read = names_of(many, ()), "", list[str]()
    while True:
        page = NamePage(STEM, COLUMNS, (), after, 5).names(Keys(many))
        assert page is not None
        if not page:
            break
        read += page
        after = page[-1]
    assert read == names
    assert all(one < other for one, other in pairwise(read))
