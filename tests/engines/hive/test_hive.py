"""Hive in front of Metatide, and beside it directly on the metastore."""

import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import psutil
import pytest

from metatide.stack.machine import LOOPBACK, free_port
from query_api.reasons import Reason, Source
from tests.engines.both_ways import WAYS, BothWays
from tests.engines.statements import ADMINISTRATOR, statements
from tests.support import thrift_answers
from tests.support.engines.shares import Record
from tests.support.hive import hms_client
from tests.support.hive.recorder import Recorder, recording
from tests.support.hive.session import HiveProcess, HiveSession, hive_process
from tests.support.processes import open_folder
from tests.support.stacks import Stack, stack
from tests.support.thrift_answers import METASTORE, ThriftAnswers

pytestmark = [
    pytest.mark.hive,
    pytest.mark.by_turns(3, of="large parts"),
    pytest.mark.timeout(1800),
]
CORPORA = Path(__file__).with_name("corpus")
SCHEMA = (
    "CREATE DATABASE {schema} LOCATION 'file:{folder}/external/{schema}' "
    "MANAGEDLOCATION 'file:{folder}/managed/{schema}'"
)
COMPACTED = {"full_acid": None, "parted": "ds=d1", "renamed": None, "insert_only_parted": "ds=d1"}
"""Tables of the corpus `acid`, of every kind, with a partition of those that have some."""
PRUNES = "get_partitions_spec_by_expr"
CACHED = (Source.CACHE, Reason.FRESH)
TRIES = 200
NUMBERS = count(1)
Pruned = Mapping[tuple[str, str], int]


@dataclass(frozen=True)
class Engine:
    """A process of Hive for each way to the metastore."""

    up: Stack
    recorder: Recorder
    """Between Hive and Metatide."""
    addresses: dict[str, str]
    """Of the metastore, by way."""
    processes: dict[str, HiveProcess]
    warehouse: Path

    def session(
        self, catalog: str, database: str = "default", _user: str = ADMINISTRATOR
    ) -> HiveSession:
        return self.processes[catalog.removeprefix("hive_")].session(database)

    def answers(self) -> ThriftAnswers:
        return thrift_answers.of_worker(self.up.entry("worker-1").address)

    @contextmanager
    def recorded(self, work: str, record: Record) -> Iterator[None]:
        """Records who answered Hive's calls in the meantime."""
        before = self.answers()
        yield
        record(work, self.answers().since(before))


@pytest.fixture(scope="module")
def hive(kafka_broker: str) -> Iterator[Engine]:
    port = free_port()
    with (
        open_folder() as folder,
        stack(
            folder / "data",
            *("--kafka", kafka_broker, "--metastore", "--thrift-port", str(port)),
            METATIDE_KAFKA_TOPIC="endpoint-hive",
        ) as up,
        recording(f"thrift://{LOOPBACK}:{port}") as recorder,
    ):
        direct, warehouse = up.entry("metastore").address, folder / "warehouse"
        with (
            hive_process(recorder.address, warehouse, folder / "through") as through,
            hive_process(direct, warehouse, folder / "without") as without,
        ):
            addresses = {"through": recorder.address, "without": direct}
            processes = {"through": through, "without": without}
            yield Engine(up, recorder, addresses, processes, warehouse)


@pytest.fixture(scope="module")
def story(hive: Engine) -> Engine:
    """With a table of which the cache knows all, `story.parted`."""
    writer = hive.session("hive_without")
    writer.rows(SCHEMA.format(schema="story", folder=hive.warehouse))
    writer.rows(
        "CREATE TABLE story.parted (id int) PARTITIONED BY (ds string) "
        "STORED AS ORC TBLPROPERTIES ('transactional' = 'true')"
    )
    insert(writer, 1)
    return hive


@pytest.mark.by_turns(2)
@pytest.mark.parametrize("corpus", ["acid", "definitions"])
def test_statements_are_answered_equally_by_both_ways(
    hive: Engine, corpus: str, record_answers: Record
) -> None:
    both = BothWays(hive.session, "hive", corpus, hive.warehouse)
    both.create_schemas(SCHEMA)
    with hive.recorded(f"Hive, {corpus}", record_answers):
        differences = both.differences(statements(CORPORA / f"{corpus}.sql"))
    assert not differences, "\n\n".join(differences)
    if corpus == "acid":
        with hive.recorded("Hive, compaction", record_answers):
            compact(hive, both.schema("through"))


def compact(hive: Engine, schema: str) -> None:
    """Compacts tables of every kind, by turns; all sessions read the same as before."""
    sessions = {way: hive.session(f"hive_{way}", schema) for way in WAYS}
    for number, (table, partition) in enumerate(COMPACTED.items(), start=1):
        way = WAYS[number % len(WAYS)]
        compactor = sessions[way]
        before = compactor.rows(f"SELECT * FROM {table}")
        # Hive's own statement would write to the metastore's database, past the metastore.
        with hms_client.connect(hive.addresses[way]) as hms:
            request = hms.t.CompactionRequest(schema, table, partition, hms.t.CompactionType.MAJOR)
            hms.rpc.compact2(request)
        compactor.compact()
        states = compactor.rows(f"SHOW COMPACTIONS SCHEMA {schema} STATUS 'ready for cleaning'")
        assert len(states) == 1 + number, states
        for reader in sessions.values():
            assert reader.rows(f"SELECT * FROM {table}") == before


def insert(session: HiveSession, number: int) -> None:
    session.rows(f"INSERT INTO story.parted PARTITION (ds = 'd{number}') VALUES ({number})")


class Reader:
    """A session through Metatide that reads `story.parted`."""

    def __init__(self, hive: Engine) -> None:
        self._hive = hive
        self.session = hive.session("hive_through")
        self.pruned: Pruned = {}
        """Of the last read: how often who told, for which reason, which partitions it needs."""

    def ids(self) -> list[int]:
        """All that the table holds. Each read has another filter, so that Hive asks again."""
        before = self._hive.answers()
        rows = self.session.rows(f"SELECT id FROM story.parted WHERE ds > 'a{next(NUMBERS)}'")
        since = self._hive.answers().since(before)
        self.pruned = {
            (source, reason): times
            for (method, source, reason), times in since.items()
            if method == PRUNES
        }
        return sorted(map(int, rows))

    def ids_when(self, who: tuple[str, str]) -> list[int]:
        """The same, as soon as this is who tells the partitions, and why."""
        for _ in range(TRIES):
            ids = self.ids()
            if self.pruned == {who: 1}:
                return ids
        raise AssertionError(f"it was never {who}, but {self.pruned}")


@contextmanager
def stopped(process: psutil.Process) -> Iterator[None]:
    process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        process.send_signal(signal.SIGCONT)


def test_the_cache_answers_by_the_write_ids_of_a_session_that_a_commit_overtook(
    story: Engine,
) -> None:
    before = Reader(story).ids_when(CACHED)
    # What it has written itself needn't be waited for, as it has written nothing.
    reader, writer = Reader(story), story.session("hive_without")
    new = max(before) + 1
    with stopped(psutil.Process(story.up.entry("connect").pid)):
        story.recorder.take()
        story.recorder.before(PRUNES, lambda: insert(writer, new))
        assert reader.ids() == before
        # Without a list, its answer would have to contain the commit, which the cache hasn't seen.
        assert reader.pruned == {CACHED: 1}
        (call,) = (call for call in story.recorder.take() if call.method == PRUNES)
        assert (call.write_ids or "").startswith("story.parted:")
        assert (call.table_id or 0) > 0
        assert reader.ids() == [*before, new]
        assert reader.pruned == {(METASTORE, Reason.BEHIND): 1}
    assert reader.ids_when(CACHED) == [*before, new]


def test_the_cache_doesn_t_answer_a_session_whose_snapshot_lacks_a_commit_that_it_contains(
    story: Engine,
) -> None:
    reader, other, writer = Reader(story), Reader(story), story.session("hive_without")
    before = reader.ids_when(CACHED)
    new = max(before) + 1

    def write() -> None:
        insert(writer, new)
        assert other.ids_when(CACHED) == [*before, new]

    story.recorder.before(PRUNES, write)
    assert reader.ids() == before
    assert reader.pruned[METASTORE, Reason.AHEAD] == 1
    assert reader.ids_when(CACHED) == [*before, new]


def test_writes_show_to_others_when_they_are_committed_and_to_their_session_at_once(
    story: Engine,
) -> None:
    reader, writer = Reader(story), Reader(story)
    before = reader.ids_when(CACHED)
    new = max(before) + 1

    def look() -> None:
        assert reader.ids_when((METASTORE, Reason.PENDING_WRITE)) == before

    story.recorder.before("commit_txn", look)
    insert(writer.session, new)
    assert writer.ids() == [*before, new]
    assert reader.ids() == [*before, new]
