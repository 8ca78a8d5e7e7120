"""Trino in front of Metatide, and beside it directly on the metastore."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any

import httpx
import pytest

from metatide.stack.machine import LOOPBACK, free_port
from tests.engines.both_ways import WAYS, BothWays
from tests.engines.statements import ADMINISTRATOR, statements
from tests.engines.trino.catalogs import CACHED, creation
from tests.support import thrift_answers
from tests.support.engines.shares import Record
from tests.support.engines.trino import Trino
from tests.support.engines.trino_client import TrinoSession, trino_client
from tests.support.hive import hms_client
from tests.support.hive import hms_objects as objects
from tests.support.processes import open_folder, running
from tests.support.stacks import Stack, stack

pytestmark = [
    pytest.mark.trino,
    pytest.mark.by_turns(3, of="large parts"),
    # The first test fetches Trino if it isn't in the cache yet.
    pytest.mark.timeout(3600),
]
CONNECTORS = {
    "tables": "hive",
    "schemas": "hive",
    "partitions": "hive",
    "views": "hive",
    "statistics": "hive",
    "acid": "hive",
    "security": "sql",
    "iceberg": "iceberg",
}
STATEMENTS_MIN = 250
CORPORA = Path(__file__).with_name("corpus")
SCHEMA = "CREATE SCHEMA {schema} WITH (location = 'file://{folder}/{schema}')"
ROUNDS = 8
COMMITS = 5
COLUMNS = {"id": "bigint", "name": "string"}
KEYS = {"ds": "string"}


@dataclass(frozen=True)
class Engine:
    """Trino, what it runs on, and where the warehouse is."""

    client: httpx.Client
    up: Stack
    addresses: dict[str, str]
    """Of the metastore, by way."""
    folder: Path
    _catalogs: set[str] = field(default_factory=set)
    _lock: Lock = field(default_factory=Lock)

    def session(self, catalog: str, schema: str, user: str = ADMINISTRATOR) -> TrinoSession:
        """A session with a catalog, which is created for the first one."""
        with self._lock:
            if catalog not in self._catalogs:
                system = TrinoSession(self.client, "system", "runtime")
                system.rows(creation(catalog, self.addresses))
                self._catalogs.add(catalog)
        return TrinoSession(self.client, catalog, schema, user)

    def with_schema(self, schema: str) -> dict[str, TrinoSession]:
        """A session by each way in a new schema."""
        sessions = {way: self.session(f"hive_{way}", schema) for way in WAYS}
        location = f"file://{self.folder}/{schema}"
        sessions["through"].rows(f"CREATE SCHEMA {schema} WITH (location = '{location}')")
        return sessions

    @contextmanager
    def recorded(self, work: str, record: Record) -> Iterator[None]:
        """Records who answered Trino's calls in the meantime."""
        worker = self.up.entry("worker-1").address
        before = thrift_answers.of_worker(worker)
        yield
        record(work, thrift_answers.of_worker(worker).since(before))


@pytest.fixture(scope="module")
def trino(kafka_broker: str) -> Iterator[Engine]:
    port = free_port()
    with (
        open_folder() as folder,
        stack(
            folder / "data",
            *("--kafka", kafka_broker, "--metastore", "--thrift-port", str(port)),
            METATIDE_KAFKA_TOPIC="endpoint-trino",
        ) as up,
    ):
        through, direct = f"thrift://{LOOPBACK}:{port}", up.entry("metastore").address
        make_administrator(direct)
        server = Trino(folder / "trino")
        with running(server, folder / "trino.log"), trino_client(server.address) as client:
            addresses = {"through": through, "without": direct}
            yield Engine(client, up, addresses, folder / "warehouse")


def make_administrator(metastore: str) -> None:
    with hms_client.connect(metastore) as hms:
        user = hms.t.PrincipalType.USER
        hms.rpc.grant_revoke_role(
            hms.t.GrantRevokeRoleRequest(
                requestType=hms.t.GrantRevokeType.GRANT,
                roleName="admin",
                principalName=ADMINISTRATOR,
                principalType=user,
                grantor=ADMINISTRATOR,
                grantorType=user,
                grantOption=False,
            )
        )


def make_transactional_tables(metastore: str, schema: str) -> None:
    """Makes the tables of the corpus `acid`. Trino itself can't: Hive 4 wants clients that name
    their capabilities.
    """
    insert_only = {"transactional_properties": "insert_only"}
    with hms_client.connect(metastore) as hms:
        hms.create_table(objects.table(schema, "full_acid", COLUMNS))
        hms.create_table(objects.table(schema, "full_acid_parted", COLUMNS, KEYS))
        for name, keys in (("insert_only", {}), ("insert_only_parted", KEYS)):
            hms.create_table(objects.table(schema, name, COLUMNS, keys, parameters=insert_only))


def test_the_corpora_are_large() -> None:
    assert (
        sum(len([*statements(CORPORA / f"{corpus}.sql")]) for corpus in CONNECTORS)
        >= STATEMENTS_MIN
    )


@pytest.mark.by_turns(2)
@pytest.mark.parametrize("corpus", CONNECTORS)
def test_statements_are_answered_equally_by_both_ways(
    trino: Engine, corpus: str, record_answers: Record
) -> None:
    both = BothWays(trino.session, CONNECTORS[corpus], corpus, trino.folder)
    both.create_schemas(SCHEMA)
    if corpus == "acid":
        for way, metastore in trino.addresses.items():
            make_transactional_tables(metastore, both.schema(way))
    with trino.recorded(f"Trino, {corpus}", record_answers):
        differences = both.differences(statements(CORPORA / f"{corpus}.sql"))
    assert not differences, "\n\n".join(differences)


def rounds() -> Iterator[tuple[str, str, list[list[Any]]]]:
    """Writes; for each a read, and what it must show from then on."""
    for n in range(ROUNDS):
        yield (
            f"INSERT INTO crossed (id, ds) VALUES ({n}, 'd{n}')",
            "SELECT count(*), max(ds) FROM crossed",
            [[1, f"d{n}"]] if n == 0 else [[2, f"d{n}"]],
        )
        yield f"DELETE FROM crossed WHERE ds = 'd{n - 1}'", "SELECT id FROM crossed", [[n]]
        yield (
            f"ALTER TABLE crossed ADD COLUMN c{n} integer",
            f"SELECT count(*) FROM crossed WHERE c{n} IS NULL",
            [[1]],
        )
        yield (
            f"CREATE OR REPLACE VIEW shown AS SELECT {n} AS n",
            "SELECT n FROM shown",
            [[n]],
        )
        yield f"CREATE TABLE made_{n} (id bigint)", f"SHOW TABLES LIKE 'made_{n}'", [[f"made_{n}"]]
        yield f"DROP TABLE made_{n}", f"SHOW TABLES LIKE 'made_{n}'", []


def test_each_way_reads_at_once_what_the_other_has_written(
    trino: Engine, record_answers: Record
) -> None:
    ways = trino.with_schema("crossed")
    ways["without"].rows(
        "CREATE TABLE crossed (id bigint, ds varchar) WITH (partitioned_by = ARRAY['ds'])"
    )
    with trino.recorded("Trino, crossing", record_answers):
        for number, (write, read, expected) in enumerate(rounds()):
            ways[WAYS[number // 6 % 2]].rows(write)
            shown = {way: session.rows(read) for way, session in ways.items()}
            assert shown == dict.fromkeys(WAYS, expected), write


def test_a_cache_of_trino_itself_is_stale(trino: Engine) -> None:
    """The test above could see it."""
    ways = trino.with_schema("control")
    cached = trino.session(CACHED, "control")
    ways["without"].rows("CREATE TABLE control (id bigint)")
    before = cached.rows("DESCRIBE control")
    ways["without"].rows("ALTER TABLE control ADD COLUMN more bigint")
    assert cached.rows("DESCRIBE control") == before
    assert ways["through"].rows("DESCRIBE control") != before


def test_commits_of_iceberg_by_both_ways_at_once_are_all_kept(
    trino: Engine, record_answers: Record
) -> None:
    location = f"file://{trino.folder}/commits"
    ways = {way: trino.session(f"iceberg_{way}", "commits") for way in WAYS}
    first = ways["through"]
    first.rows(f"CREATE SCHEMA commits WITH (location = '{location}')")
    first.rows("CREATE TABLE counted (writer bigint) WITH (max_commit_retry = 20)")

    def commit(writer: int) -> int:
        """The number of commits; the writer sees each as soon as it is made."""
        session = trino.session(f"iceberg_{WAYS[writer % 2]}", "commits")
        reader = trino.session(f"iceberg_{WAYS[1 - writer % 2]}", "commits")
        done = 0
        for _ in range(COMMITS):
            done += session.ask(f"INSERT INTO counted VALUES {writer}").error is None
            count = f"SELECT count(*) FROM counted WHERE writer = {writer}"
            assert session.rows(count) == reader.rows(count) == [[done]]
        return done

    with trino.recorded("Trino, Iceberg's commits", record_answers), ThreadPoolExecutor(4) as pool:
        counts = list(pool.map(commit, range(4)))
    assert sum(counts) >= COMMITS
    for session in ways.values():
        assert session.rows("SELECT count(*) FROM counted") == [[sum(counts)]]
