"""Which tables were missed most often."""

import pytest

from hive.names import table_name
from query_api.reasons import Reason
from query_api.resolver import missed_tables
from query_api.resolver.missed_tables import MissedTable, MissedTables

ORDERS, ITEMS, USERS = (table_name(None, "sales", name) for name in ("orders", "items", "users"))


def test_the_most_missed_come_first_with_their_reasons() -> None:
    missed = MissedTables()
    for table, reason in (
        (ORDERS, Reason.COLD),
        (ITEMS, Reason.BEHIND),
        (ITEMS, Reason.COLD),
        (ITEMS, Reason.COLD),
        (USERS, Reason.COLD),
    ):
        missed.note(table, reason)
    assert missed.most(2) == [
        MissedTable("hive.sales.items", 3, {"behind": 1, "cold": 2}),
        MissedTable("hive.sales.orders", 1, {"cold": 1}),
    ]


def test_those_missed_longest_ago_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(missed_tables, "TABLES_MAX", 2)
    missed = MissedTables()
    for table in (ORDERS, ITEMS, ORDERS, USERS):
        missed.note(table, Reason.COLD)
    assert [each.table for each in missed.most(10)] == ["hive.sales.orders", "hive.sales.users"]
