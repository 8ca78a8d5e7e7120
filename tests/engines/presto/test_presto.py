"""Presto in front of Metatide. Its client is of Hive 3: a metastore of Hive 4 alone refuses it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from metatide.stack.machine import LOOPBACK, free_port
from tests.support import thrift_answers
from tests.support.engines.presto import Presto
from tests.support.engines.shares import Record
from tests.support.engines.trino_client import TrinoSession, trino_client
from tests.support.hive import hms_client
from tests.support.hive import hms_objects as objects
from tests.support.hive.hms_client import HmsClient
from tests.support.processes import open_folder, running
from tests.support.stacks import Stack, stack

pytestmark = [
    pytest.mark.trino,
    pytest.mark.by_turns(3, of="large parts"),
    # The first test fetches Presto if it isn't in the cache yet.
    pytest.mark.timeout(3600),
]
HIVE: Final = {
    "connector.name": "hive-hadoop2",
    "hive.metastore-cache-ttl": "0s",
    "hive.metastore-refresh-interval": "0s",
    **dict.fromkeys(
        (
            *("hive.non-managed-table-writes-enabled", "hive.allow-add-column"),
            *("hive.allow-drop-column", "hive.allow-drop-table", "hive.allow-rename-table"),
        ),
        "true",
    ),
}
COLUMNS: Final = {"id": "bigint"}
KEYS: Final = {"ds": "string"}
STATEMENTS: Final[tuple[tuple[str, list[list[Any]] | None], ...]] = (
    ("CREATE TABLE t (id bigint, ds varchar) WITH (partitioned_by = ARRAY['ds'])", None),
    ("INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'b')", [[3]]),
    ("SELECT id, ds FROM t ORDER BY id", [[1, "a"], [2, "b"], [3, "b"]]),
    ("SELECT id FROM t WHERE ds = 'a'", [[1]]),
    ('SELECT ds FROM "t$partitions" ORDER BY ds', [["a"], ["b"]]),
    ("SHOW TABLES", [["t"]]),
    ("ANALYZE t", [[3]]),
    ("ALTER TABLE t ADD COLUMN more bigint", None),
    ("SELECT more, id FROM t WHERE ds = 'a'", [[None, 1]]),
    ("DELETE FROM t WHERE ds = 'a'", None),
    ("SELECT count(*) FROM t", [[2]]),
    ("ALTER TABLE t RENAME TO u", None),
    ("SELECT count(*) FROM u", [[2]]),
    ("SHOW TABLES", [["u"]]),
    ("CREATE VIEW v AS SELECT id FROM u", None),
    ("SELECT max(id) FROM v", [[3]]),
    ("DROP VIEW v", None),
    ("DROP TABLE u", None),
    ("SHOW TABLES", []),
)
"""Statements, and the rows of those that have some."""
ROUNDS: Final = 5


class Engine(NamedTuple):
    """Presto, and what it runs on."""

    through: TrinoSession
    without: TrinoSession
    up: Stack
    warehouse: Path

    @property
    def metastore(self) -> str:
        return self.up.entry("metastore").address


@pytest.fixture(scope="module")
def presto(kafka_broker: str) -> Iterator[Engine]:
    port = free_port()
    with (
        open_folder() as folder,
        stack(
            folder / "data",
            *("--kafka", kafka_broker, "--metastore", "--thrift-port", str(port)),
            METATIDE_KAFKA_TOPIC="endpoint-presto",
        ) as up,
    ):
        addresses = {
            "through": f"thrift://{LOOPBACK}:{port}",
            "without": up.entry("metastore").address,
        }
        catalogs = {way: {**HIVE, "hive.metastore.uri": uri} for way, uri in addresses.items()}
        server = Presto(folder / "presto", catalogs)
        with running(server, folder / "presto.log"), trino_client(server.address) as client:
            through, without = (
                TrinoSession(client, way, "sales", dialect="Presto") for way in addresses
            )
            warehouse = folder / "warehouse"
            through.rows(f"CREATE SCHEMA sales WITH (location = 'file://{warehouse}/sales')")
            through.rows("CREATE TABLE ready AS SELECT 1 AS id")
            # Until it has discovered itself, it says that it has no nodes.
            up.until(lambda: through.ask("SELECT id FROM ready").error is None)
            through.rows("DROP TABLE ready")
            yield Engine(through, without, up, warehouse)


def test_statements_are_answered(presto: Engine, record_answers: Record) -> None:
    worker = presto.up.entry("worker-1").address
    before = thrift_answers.of_worker(worker)
    for statement, expected in STATEMENTS:
        rows = presto.through.rows(statement)
        assert expected is None or rows == expected, statement
    record_answers("Presto", thrift_answers.of_worker(worker).since(before))


def writes(hms: HmsClient) -> Iterator[tuple[str, Any]]:
    """Writes at the metastore; after each a query, and what it must show from then on."""
    for number in range(ROUNDS):
        name = f"other_{number}"
        table = objects.table("sales", name, COLUMNS, KEYS, transactional=False)
        hms.create_table(table)
        yield f"SHOW TABLES LIKE '{name}'", [[name]]
        stored = hms.table("sales", name)
        hms.add_partitions(stored, [("a",), ("b",)])
        yield f'SELECT ds FROM "{name}$partitions" ORDER BY ds', [["a"], ["b"]]
        hms.rpc.drop_partition("sales", name, ["a"], True)
        yield f'SELECT ds FROM "{name}$partitions"', [["b"]]
        stored.sd.cols.append(hms.t.FieldSchema(name="more", type="string"))
        hms.alter_table("sales", name, stored)
        query = "SELECT count(*) FROM information_schema.columns WHERE table_name = '{}'"
        yield query.format(name), [[3]]
        hms.rpc.drop_table("sales", name, True)
        yield f"SHOW TABLES LIKE '{name}'", []


def test_what_others_write_shows_at_once(presto: Engine) -> None:
    with hms_client.connect(presto.metastore) as hms:
        for query, expected in writes(hms):
            assert presto.through.rows(query) == expected, query


def test_a_metastore_of_hive_4_alone_refuses_its_calls(presto: Engine) -> None:
    presto.through.rows("CREATE TABLE alone (id bigint)")
    answer = presto.without.ask("SELECT * FROM alone")
    assert answer.error == "HIVE_METASTORE_ERROR: Invalid method name: 'get_table'"
    assert presto.through.rows("SELECT * FROM alone") == []
