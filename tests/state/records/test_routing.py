import pytest

from hive.names import DatabaseName, table_name
from state.records.routing import home_shard, kafka_partition, murmur2, table_shard


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
