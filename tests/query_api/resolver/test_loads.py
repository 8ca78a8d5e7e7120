"""Which loads are asked for, and how often."""

import pytest

from hive.names import table_name
from query_api.facts import Facts
from query_api.positions import Position
from query_api.reasons import Reason
from query_api.resolver import loads as module
from query_api.resolver.loads import AGAIN_AFTER_S, Loads
from query_api.targets import Target, TargetKind
from state.loads import Cold
from state.records import Scope, ScopeKind, databases_scope
from tests.query_api.shards import ORDERS, MemoryShards

TABLE = Target(TargetKind.TABLE, ORDERS)
COLD = Facts(Position(0, 7), Reason.COLD, str(Cold.NEVER_LOADED), floor=5)
SCOPE = Scope(ScopeKind.TABLE, ORDERS)


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_cold_table_is_asked_for_once_in_a_while() -> None:
    shards, clock = MemoryShards(), Clock()
    loads = Loads(shards, clock)
    loads.ask(1, TABLE, COLD)
    clock.now += AGAIN_AFTER_S - 0.1
    loads.ask(1, TABLE, COLD)
    assert shards.wanted == [(1, SCOPE, 5)]
    clock.now += 0.1
    loads.ask(1, TABLE, COLD)
    assert shards.wanted == [(1, SCOPE, 5)] * 2


def test_each_shard_that_lacks_all_databases_asks_for_them() -> None:
    shards, clock = MemoryShards(), Clock()
    loads = Loads(shards, clock)
    target = Target(TargetKind.DATABASES, ORDERS._replace(db="", table=""))
    for shard in (0, 1, 0):
        loads.ask(shard, target, COLD)
    assert shards.wanted == [(shard, databases_scope("hive"), 5) for shard in (0, 1)]


def test_a_load_that_is_ahead_needs_no_other() -> None:
    shards = MemoryShards()
    Loads(shards).ask(1, TABLE, Facts(Position(0, 7), Reason.COLD, Cold.AHEAD))
    assert shards.wanted == []


def test_where_the_table_is_known_only_its_write_ids_are_loaded() -> None:
    shards = MemoryShards()
    Loads(shards).ask(1, TABLE, Facts(Position(0, 7), None, floor=5))
    assert shards.wanted == [(1, Scope(ScopeKind.WRITE_IDS, ORDERS), 5)]


def test_no_load_brings_write_ids_of_tables_outside_of_the_default_catalog() -> None:
    shards = MemoryShards()
    elsewhere = Target(TargetKind.TABLE, table_name("spark", ORDERS.db, ORDERS.table))
    loads = Loads(shards)
    loads.ask(1, elsewhere, Facts(Position(0, 7), None, floor=5))
    assert shards.wanted == []
    loads.ask(1, elsewhere, COLD)
    assert shards.wanted == [(1, Scope(ScopeKind.TABLE, elsewhere.name), 5)]


def test_of_many_tables_the_oldest_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "REMEMBERED", 2)
    shards = MemoryShards()
    loads = Loads(shards, Clock())
    tables = [Target(TargetKind.TABLE, table_name(None, "sales", name)) for name in "abc"]
    for target in [*tables, tables[2], tables[0]]:
        loads.ask(1, target, COLD)
    assert [scope.name.table for _, scope, _ in shards.wanted] == ["a", "b", "c", "a"]
