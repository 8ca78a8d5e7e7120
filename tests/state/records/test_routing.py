import pytest

from hive.names import DatabaseName, table_name
from state.records import Scope, ScopeKind, databases_scope, names_scope
from state.records.routing import home_shard, kafka_partition, murmur2, shards_of, table_shard


@pytest.mark.parametrize(
    ("text", "signed"),
    [
        ("21", -973932308),
        ("foobar", -790332482),
        ("a-little-bit-long-string", -985981536),
        ("a-little-bit-longer-string", -1486304829),
        ("abc", 479470107),
    ],
)
def test_the_hash_is_that_of_kafkas_java_clients(text: str, signed: int) -> None:
    assert murmur2(text.encode()) == signed % (1 << 32)


def test_a_table_and_its_database_are_routed_by_their_full_names() -> None:
    table = table_name(None, "Sales", "Orders")
    assert table_shard(table, 12) == kafka_partition(b"hive.sales.orders", 12)
    assert home_shard(DatabaseName("hive", "sales"), 12) == kafka_partition(b"hive.sales", 12)


def test_a_scope_is_where_its_table_is_at_the_home_of_its_database_or_everywhere() -> None:
    table = table_name(None, "Sales", "Orders")
    for kind in (ScopeKind.TABLE, ScopeKind.WRITE_IDS, ScopeKind.OBJECTS):
        assert shards_of(Scope(kind, table), 12) == (table_shard(table, 12),)
    assert shards_of(names_scope(table.database), 12) == (home_shard(table.database, 12),)
    assert list(shards_of(databases_scope("hive"), 3)) == [0, 1, 2]
