"""One rule for what is loaded, folded and served."""

import pytest

from hive.errors import InputError, PatternError
from hive.names import table_name
from state.records.table_lists import TableLists, check_patterns, is_cached

ORDERS = table_name(None, "sales", "orders")


@pytest.mark.parametrize(
    ("whitelist", "blacklist", "allowed"),
    [
        ((), (), True),
        (("sales.*",), (), True),
        (("hr.*", "*.orders"), (), True),
        (("hr.*",), (), False),
        ((), ("hr.*",), True),
        ((), ("SALES.ord*",), False),
        (("sales.*",), ("*.orders",), False),
    ],
)
def test_a_white_pattern_and_no_black_one_lets_a_table_in(
    whitelist: tuple[str, ...], blacklist: tuple[str, ...], allowed: bool
) -> None:
    assert TableLists(whitelist, blacklist).allow(ORDERS) is allowed
    assert is_cached(whitelist, blacklist, ORDERS) is allowed


def test_lists_without_patterns_are_open() -> None:
    assert TableLists().open
    assert not TableLists(["sales.*"]).open


@pytest.mark.parametrize(
    "pattern",
    ["sales", "sales.*|hr", "hive.sales.orders", "sales.orders,sales.items", "*.sales.*", ""],
)
def test_a_pattern_that_names_no_table_is_refused(pattern: str) -> None:
    with pytest.raises(InputError, match=r"db\.table"):
        check_patterns(["sales.*", pattern])


def test_a_star_may_stand_for_the_dot() -> None:
    check_patterns(["*", "sales*orders", "sales.*|*_tmp"])


def test_a_pattern_that_is_too_long_is_refused() -> None:
    with pytest.raises(PatternError):
        check_patterns(["sales." + "x" * 5_000])
