from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive.write_ids.lists import LONG_MAX, WriteIdList, write_id_list
from hive.write_ids.relations import (
    Relation,
    contains,
    equal,
    only_in,
    relation,
)
from hive.write_ids.text import parse, parse_short
from tests.hive.write_ids.hive_comparison import hive_compare
from tests.hive.write_ids.model import committed, small_lists

PLAIN = list(small_lists(6, with_aborted=False))
SMALL = list(small_lists(4, with_aborted=True))


def lacking(whole: WriteIdList, part: WriteIdList) -> set[int]:
    """What is committed in one but not in the other, by the rule, on sets."""
    return committed(part) - committed(whole) - set(whole.aborted) - set(part.aborted)


def expected(requested: WriteIdList, cached: WriteIdList) -> Relation:
    missing, extra = lacking(cached, requested), lacking(requested, cached)
    if missing:
        return Relation.INCOMPARABLE if extra else Relation.BEHIND
    return Relation.NEWER if extra else Relation.EQUAL


def check(requested: WriteIdList, cached: WriteIdList) -> None:
    wanted = expected(requested, cached)
    assert relation(requested, cached) is wanted
    assert equal(requested, cached) == (wanted is Relation.EQUAL)
    assert contains(cached, requested) == (wanted in (Relation.EQUAL, Relation.NEWER))
    assert only_in(requested, cached, 9) == sorted(lacking(cached, requested))


def test_all_pairs_of_lists_up_to_six_agree_with_sets() -> None:
    assert len(PLAIN) == 127
    for requested, cached in product(PLAIN, PLAIN):
        check(requested, cached)


def test_all_pairs_of_lists_with_aborted_ids_up_to_four_agree_with_sets() -> None:
    assert len(SMALL) == 121
    for requested, cached in product(SMALL, SMALL):
        check(requested, cached)


@pytest.mark.torture
def test_all_pairs_of_lists_with_aborted_ids_up_to_six_agree_with_sets() -> None:
    lists = list(small_lists(6, with_aborted=True))
    for requested, cached in product(lists, lists):
        check(requested, cached)


@pytest.mark.parametrize("hwm", [5, 6])
def test_every_long_list_with_aborted_ids_against_some_others(hwm: int) -> None:
    some = SMALL[::7]
    for ids in small_lists(hwm, with_aborted=True):
        for other in some:
            check(ids, other)
            check(other, ids)


IDS = st.sets(st.one_of(st.integers(1, 12), st.integers(1, 300)), max_size=30)


@given(st.integers(0, 300), IDS, IDS, st.integers(0, 300), IDS, IDS)
def test_ids_above_the_mark_or_open_and_aborted_at_once(
    hwm: int, opened: set[int], aborted: set[int], hwm2: int, opened2: set[int], aborted2: set[int]
) -> None:
    requested = write_id_list(hwm, opened, aborted)
    cached = write_id_list(hwm2, opened2, aborted2)
    assert relation(requested, cached) is expected(requested, cached)
    assert set(only_in(requested, cached, 999)) == lacking(cached, requested)


@pytest.mark.parametrize(
    ("whole", "part"),
    [
        (write_id_list(2, [], [3]), write_id_list(4, [4])),
        (write_id_list(2), write_id_list(4, [4], [4])),
        (write_id_list(2, [], [3, 4]), write_id_list(4, [4])),
    ],
    ids=["aborted above the mark", "open and aborted at once", "both"],
)
def test_a_gap_that_ids_of_both_kinds_fill(whole: WriteIdList, part: WriteIdList) -> None:
    assert contains(whole, part) == (not lacking(whole, part))
    check(part, whole)


@given(st.sets(st.integers(1, 1 << 50), max_size=8), st.sets(st.integers(1, 1 << 50), max_size=8))
def test_ids_that_lie_far_apart(opened: set[int], aborted: set[int]) -> None:
    hwm = 1 << 50
    requested = write_id_list(hwm, opened, aborted)
    cached = write_id_list(hwm, opened | aborted)
    assert equal(requested, cached)
    later = write_id_list(hwm + 1, opened, aborted)
    assert relation(requested, later) is Relation.NEWER
    fewer = write_id_list(hwm, sorted(opened)[:-1], aborted)
    lost = bool(opened - set(fewer.open) - aborted)
    assert relation(fewer, cached) is (Relation.BEHIND if lost else Relation.EQUAL)


@pytest.mark.parametrize(
    ("requested", "cached", "wanted"),
    [
        ("[12:7,8,12]", "[11:7,8]", Relation.EQUAL),
        ("[12:7,8,12]", "[12:7,12]", Relation.NEWER),
        ("[13:7,8,13]", "[12:7,8]", Relation.EQUAL),
        ("[13:7,8,12]", "[12:7,8]", Relation.INCOMPARABLE),
        ("[13:7,8,12]", "[12:7]", Relation.INCOMPARABLE),
        ("d.t:5:3:3,4:", "d.t:5:5:5:", Relation.INCOMPARABLE),
    ],
)
def test_the_worked_examples(requested: str, cached: str, wanted: Relation) -> None:
    one, other = parse(requested), parse(cached)
    assert isinstance(one, WriteIdList)
    assert isinstance(other, WriteIdList)
    assert relation(one, other) is wanted


def test_hives_compare_calls_a_list_fresher_that_lacks_a_commit() -> None:
    requested, cached = parse_short("[5:3,4]"), parse_short("[5:5]")
    assert hive_compare(cached, requested) > 0
    assert only_in(requested, cached, 9) == [5]


def test_aborted_ids_that_were_purged_do_not_matter() -> None:
    after = write_id_list(8)
    before = write_id_list(8, aborted_ids=[6, 7, 8])
    assert equal(after, before)
    assert equal(before, after)


@pytest.mark.parametrize("other", [write_id_list(5), write_id_list(LONG_MAX)])
def test_a_list_without_an_end_is_no_list(other: WriteIdList) -> None:
    nothing = write_id_list(LONG_MAX)
    assert relation(nothing, other) is Relation.INCOMPARABLE
    assert relation(other, nothing) is Relation.INCOMPARABLE


def test_hives_compare_is_zero_for_equal_sets_and_only_for_them() -> None:
    for one, other in product(PLAIN, PLAIN):
        assert (hive_compare(one, other) == 0) == (committed(one) == committed(other))


def test_hives_compare_has_no_direction_of_its_own() -> None:
    for one, other in product(PLAIN, PLAIN):
        assert hive_compare(one, other) == -hive_compare(other, one)


def test_whatever_contains_a_list_is_fresh_for_hive_too() -> None:
    fresh_but_lacking = 0
    for requested, cached in product(small_lists(5, with_aborted=False), repeat=2):
        fresh = hive_compare(cached, requested) >= 0
        has_all = contains(cached, requested)
        assert fresh or not has_all
        fresh_but_lacking += fresh and not has_all
    assert fresh_but_lacking == 928


@pytest.mark.parametrize(
    ("one", "other", "wanted"),
    [
        ("a.t:5:1::", "b.t:5:1::", -1),
        ("a.t:5:1::", "A.T:5:1::", 0),
        ("a.t:5:1::", "a.tab:9:1::", -2),
        ("a.z:5:1::", "a.b:9:1::", 24),
    ],
)
def test_hives_compare_looks_at_names_first(one: str, other: str, wanted: int) -> None:
    first, second = parse(one), parse(other)
    assert isinstance(first, WriteIdList)
    assert isinstance(second, WriteIdList)
    assert hive_compare(first, second) == wanted
