"""Two workers with a real metastore behind them, and a client of a metastore that asks both."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from metatide.monitoring.metric_families import BOTH, WORKER, exported
from metatide.stack.machine import LOOPBACK, free_port
from tests.support import local_http
from tests.support.hive import hms_client
from tests.support.hive import hms_objects as objects
from tests.support.hive.client import HiveClient
from tests.support.hive.hms_client import HmsClient
from tests.support.hive.java import Serialized, hive_java
from tests.support.processes import open_folder
from tests.support.stacks import Stack, stack

pytestmark = pytest.mark.hive
ROUNDS = 24


@pytest.fixture(scope="module")
def running(kafka_broker: str) -> Iterator[tuple[Stack, list[str]]]:
    """Reads are answered with whatever the cache has, those of the database `latest` excepted."""
    port = free_port()
    with (
        open_folder() as parent,
        stack(
            parent / "data",
            *("--kafka", kafka_broker, "--metastore", "--workers", "2"),
            *("--thrift-port", str(port)),
            METATIDE_KAFKA_TOPIC="endpoint",
            METATIDE_READS_CONSISTENCY="any",
            METATIDE_READS_TABLES="latest.*=latest",
        ) as up,
    ):
        ports = json.loads((up.folder / "ports.json").read_text())
        second = ports["worker-2-thrift"]
        yield up, [f"thrift://{LOOPBACK}:{one}" for one in (port, second)]


def make_tables(client: HmsClient, db: str, count: int) -> list[Any]:
    client.create_database(db)
    return [
        client.create_table(
            objects.table(db, f"t{number}", {"id": "bigint"}, {"ds": "string"}, transactional=False)
        )
        for number in range(count)
    ]


def write(client: HmsClient, table: Any, round_: int) -> None:
    """Two writes that a reader can tell from those before."""
    table.parameters["round"] = str(round_)
    client.alter_table(table.dbName, table.tableName, table)
    client.add_partitions(table, [[f"{round_:03}"]])


def read(client: HmsClient, table: Any) -> tuple[str, int]:
    db, name = table.dbName, table.tableName
    found = client.table(db, name).parameters["round"]
    return found, len(client.rpc.get_partition_names(db, name, -1))


def pages(up: Stack) -> list[str]:
    """The metrics of both workers."""
    return [
        local_http.get(f"{up.entry(one).address}/metrics").text for one in ("worker-1", "worker-2")
    ]


def answers_of_the_cache(up: Stack) -> int:
    return sum(
        int(float(line.rpartition(" ")[2]))
        for page in pages(up)
        for line in page.splitlines()
        if line.startswith("metatide_thrift_answers_total") and 'source="cache"' in line
    )


def test_a_client_reads_what_it_wrote_through_the_same_endpoint(
    running: tuple[Stack, list[str]],
) -> None:
    up, (first, _) = running
    before = answers_of_the_cache(up)
    with hms_client.connect(first) as client:
        tables = make_tables(client, "own", 4)
        for round_ in range(ROUNDS):
            table = tables[round_ % len(tables)]
            write(client, table, round_)
            assert read(client, table) == (str(round_), round_ // len(tables) + 1)
    assert answers_of_the_cache(up) > before


def test_its_page_has_the_metrics_that_dashboards_are_made_of(
    running: tuple[Stack, list[str]],
) -> None:
    wanted = {family.name for family in exported() if family.job in (WORKER, BOTH)}
    assert running[0].metrics("worker-1") == wanted


def test_a_client_of_another_endpoint_reads_the_latest(running: tuple[Stack, list[str]]) -> None:
    up, (first, second) = running
    with hms_client.connect(first) as client, hms_client.connect(second) as other:
        tables = make_tables(client, "latest", 4)
        before = answers_of_the_cache(up)
        for round_ in range(ROUNDS):
            table = tables[round_ % len(tables)]
            writer, reader = (client, other) if round_ % 3 else (other, client)
            write(writer, table, round_)
            assert read(reader, table) == (str(round_), round_ // len(tables) + 1)
    assert answers_of_the_cache(up) > before


def test_hives_own_client_reads_what_its_transactions_wrote(
    running: tuple[Stack, list[str]],
) -> None:
    """With lists of write ids through either endpoint, without them through its own."""
    up, addresses = running
    with hms_client.connect(addresses[0]) as client:
        client.create_database("java")
        for number in range(2):
            client.create_table(
                objects.table("java", f"t{number}", {"id": "bigint"}, {"ds": "string"})
            )
    with hive_java() as java:
        clients = [HiveClient(java, address) for address in addresses]
        tables = [clients[0].client.getTable("java", f"t{number}") for number in range(2)]
        written: list[list[str]] = [[], []]
        before = answers_of_the_cache(up)
        for round_ in range(12):
            table, values = tables[round_ % 2], written[round_ % 2]
            writer, reader = clients if round_ % 3 else reversed(clients)
            older, was = reader.lists(table), list(values)
            assert reader.values(table, older) == was
            writer.write(table, f"{round_:02}")
            values.append(f"{round_:02}")
            assert writer.values(table, None) == values
            assert writer.read(table, None).getParameters()["round"] == values[-1]
            for hive_client in clients:
                ids = hive_client.lists(table)
                assert hive_client.read(table, ids).getParameters()["round"] == values[-1]
                assert hive_client.values(table, ids) == values
        for hive_client in clients:
            hive_client.close()
    assert answers_of_the_cache(up) > before


@pytest.mark.parametrize("is_framed", [False, True])
def test_hives_own_client_may_speak_the_compact_protocol_and_frames(
    running: tuple[Stack, list[str]], is_framed: bool
) -> None:
    up, (first, _) = running
    database = f"compact_{is_framed}".lower()
    with hms_client.connect(first) as client:
        make_tables(client, database, 1)
    protocol = {
        "metastore.thrift.compact.protocol.enabled": "true",
        "metastore.thrift.framed.transport.enabled": str(is_framed).lower(),
    }
    with hive_java() as java:
        client_of_hive = HiveClient(java, first, protocol)
        table = client_of_hive.client.getTable(database, "t0")
        for value in "123":
            client_of_hive.client.add_partition(client_of_hive.partition(table, value, -1))
        before = answers_of_the_cache(up)
        assert client_of_hive.values(table, None) == list("123")
        up.until(lambda: client_of_hive.read(table, None) and answers_of_the_cache(up) > before)
        client_of_hive.close()
    assert "metatide_thrift_refused_total{" not in "".join(pages(up))


def test_hives_expressions_are_read_once_a_process_of_java_is_up(
    running: tuple[Stack, list[str]],
) -> None:
    up, (first, _) = running
    with hms_client.connect(first) as client:
        make_tables(client, "pruned", 1)
    with hive_java() as java:
        by = Serialized(java)
        later = by.call("OPGreaterThan", by.column("ds", "string"), by.constant("2", "string"))
        client_of_hive = HiveClient(java, first)
        table = client_of_hive.client.getTable("pruned", "t0")
        for value in "123":
            client_of_hive.client.add_partition(client_of_hive.partition(table, value, -1))

        def is_read() -> bool:
            assert client_of_hive.values_by(table, by.bytes_of(later)) == ["3"]
            page = "".join(pages(up))
            answers = 'answers_total{method="get_partitions_spec_by_expr",reason="fresh"'
            return 'expressions_total{outcome="read"}' in page and answers in page

        up.until(is_read)
        client_of_hive.close()


def test_shards_of_the_other_worker_are_answered_by_it(running: tuple[Stack, list[str]]) -> None:
    up, addresses = running
    with hms_client.connect(addresses[0]) as client:
        tables = make_tables(client, "spread", 12)
    for address in addresses:
        with hms_client.connect(address) as client:

            def all_are_cached(client: HmsClient = client) -> bool:
                before = answers_of_the_cache(up)
                for table in tables:
                    client.table(table.dbName, table.tableName)
                return answers_of_the_cache(up) - before >= len(tables)

            up.until(all_are_cached)
