from typing import Any

import pytest

from hive.errors import InputError
from hive.names import DatabaseName, table_name
from query_api.consistency import Consistency
from query_api.reads import (
    GetTables,
    ListDatabases,
    ListPartitions,
    ListTables,
    ListTablesOfAll,
    Read,
)
from query_api.requirement_defaults import Defaults


@pytest.mark.parametrize(
    ("read", "consistency"),
    [
        (GetTables((table_name(None, "sales", "orders"),)), "latest"),
        (GetTables((table_name(None, "logs", "web"), table_name(None, "hr", "t"))), "within"),
        (GetTables(tuple(table_name(None, db, "t") for db in ("hr", "logs", "sales"))), "latest"),
        (GetTables((table_name(None, "hr", "t"),)), "any"),
        (GetTables((table_name(None, "sales", "tmp_1"),)), "any"),
        (GetTables(()), "any"),
        (ListPartitions(table_name(None, "logs", "web")), "within"),
        (ListTables(DatabaseName("hive", "sales")), "latest"),
        (ListTables(DatabaseName("hive", "logs")), "within"),
        (ListTables(DatabaseName("hive", "hr")), "any"),
        (ListTables(DatabaseName("hive", "log")), "any"),
        (ListTables(DatabaseName("hive", "books_of_2026")), "latest"),
        (ListTablesOfAll("hive", "hr"), "latest"),
        (ListDatabases("hive"), "any"),
    ],
)
def test_of_several_tables_the_strictest_counts(read: Read[Any], consistency: str) -> None:
    patterns = "sales.tmp_*", "x.y|sales.*", "logs.*", "books*ledger"
    consistencies = map(Consistency, ("any", "latest", "within", "latest"))
    tables = tuple(zip(patterns, consistencies, strict=True))
    assert Defaults(Consistency.ANY, tables).of(read) is Consistency(consistency)


def test_a_pattern_that_can_match_no_table_is_no_default() -> None:
    with pytest.raises(InputError, match=r"'orders' names no table: write db\.table"):
        Defaults(Consistency.ANY, (("orders", Consistency.LATEST),))


def test_a_list_is_never_less_strict_than_what_states_nothing() -> None:
    defaults = Defaults(tables=(("logs.*", Consistency.ANY),))
    assert defaults.of(ListTables(DatabaseName("hive", "logs"))) is Consistency.LATEST
    assert defaults.of(ListTablesOfAll("hive")) is Consistency.LATEST
    strict = Defaults(Consistency.ANY, (("*", Consistency.LATEST),))
    assert strict.of(ListTables(DatabaseName("hive", "logs"))) is Consistency.LATEST
    assert defaults.of(GetTables((table_name(None, "logs", "web"),))) is Consistency.ANY


@pytest.mark.parametrize("wrong", [Consistency.AT_LEAST, Consistency.WRITE_IDS])
def test_what_needs_more_than_a_word_is_no_default(wrong: Consistency) -> None:
    with pytest.raises(InputError, match="can't be a default"):
        Defaults(wrong)
    with pytest.raises(InputError, match="the floor is any or latest"):
        Defaults(floor=wrong)
