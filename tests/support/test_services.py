"""Tests that the services for other tests are real, and separate from each other."""

from collections.abc import Callable

import psycopg
import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from metatide.stack.kafka import MESSAGE_BYTES_MAX
from tests.support.databases.stock_postgres import NewStockDatabase


def test_the_broker_takes_large_records(kafka_broker: str) -> None:
    admin = AdminClient({"bootstrap.servers": kafka_broker})
    admin.create_topics([NewTopic("services-large", 1, 1)])["services-large"].result(30)
    producer = Producer(
        {"bootstrap.servers": kafka_broker, "message.max.bytes": MESSAGE_BYTES_MAX - 1024}
    )
    failures: list[object] = []
    producer.produce(
        "services-large",
        bytes(MESSAGE_BYTES_MAX - 4096),
        on_delivery=lambda error, _: failures.append(error),
    )
    assert producer.flush(30) == 0
    assert failures == [None]


def test_the_broker_makes_no_topic_by_itself(kafka_broker: str) -> None:
    admin = AdminClient({"bootstrap.servers": kafka_broker})
    admin.list_topics("services-unasked", timeout=10)
    assert "services-unasked" not in admin.list_topics(timeout=10).topics


def test_databases_are_empty_and_apart(new_database: Callable[[], str]) -> None:
    first, other = new_database(), new_database()
    with psycopg.connect(first) as connection:
        connection.execute("CREATE TABLE mine (id int)")
    with psycopg.connect(other) as connection:
        tables = connection.execute("SELECT FROM pg_tables WHERE schemaname = 'public'").fetchall()
    assert tables == []


def test_databases_sort_text_by_bytes_and_hold_unicode(new_database: Callable[[], str]) -> None:
    with psycopg.connect(new_database()) as connection:
        row = connection.execute("SELECT 'B' < 'a', length('ü€😀')").fetchone()
    assert row == (True, 3)


@pytest.mark.stock
@pytest.mark.parametrize(
    ("collation", "ordered"), [("C", ["B", "_", "a"]), ("en-US", ["_", "a", "B"])]
)
def test_a_packaged_server_has_its_own_settings(
    new_stock_database: NewStockDatabase, collation: str, ordered: list[str]
) -> None:
    with psycopg.connect(new_stock_database(collation)) as connection:
        names = connection.execute("SELECT n FROM unnest(ARRAY['a', 'B', '_']) n ORDER BY n")
        assert [name for (name,) in names] == ordered
        for setting in ("autovacuum", "fsync", "jit"):
            assert connection.execute(f"SHOW {setting}").fetchone() == ("on",)
