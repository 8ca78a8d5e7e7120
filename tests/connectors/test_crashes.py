"""Connectors as processes that are killed, doubled and put to sleep while events are written."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from random import Random

import pytest
import sqlalchemy as sa

from connectors import topic_admin as events
from connectors.publish import tails
from connectors.publish.renames import Renames
from connectors.publish.routing import route
from connectors.publish.transaction_tables import TransactionTables
from hive.events.decode import decode
from metatide.demo.options import Limits, Size
from metatide.demo.pace import Pace
from metatide.demo.store import Store
from metatide.demo.workload import Style, Workload
from state.records.actions import AnyAction
from state.topic import Topic
from state.topic.client import topic_bounds
from tests.connectors.connector_runs import (
    Message,
    assert_unbroken,
    changes,
    new_topic,
    read,
    until,
)
from tests.metatide.demo import workload_runs
from tests.support.hive import hms_objects as objects
from tests.support.hive.metastore import Instances, MetastoreFactory
from tests.support.processes import die_with_parent

pytestmark = [pytest.mark.slow, pytest.mark.by_turns(4, of="crashes")]

EVENTS = 5_000
WRITERS = 2
KILLS_MIN = 5
COLUMNS, KEYS = {"id": "bigint"}, {"ds": "string"}
SIZE = Size(tables=40, partitions=300, column_layouts=8)


class Process:
    """`metatide connect`, as a user runs it."""

    def __init__(self, url: str, topic: Topic, folder: Path) -> None:
        self._environment = {
            **os.environ,
            "METATIDE_DATABASE_URL": url,
            "METATIDE_KAFKA_BOOTSTRAP_SERVERS": topic.servers,
            "METATIDE_KAFKA_TOPIC": topic.name,
            "METATIDE_KAFKA_PARTITIONS": str(topic.shards),
            "METATIDE_DATA_DIR": str(folder),
        }
        self._log = folder / "connect.log"
        self.start()

    def start(self) -> None:
        with self._log.open("ab") as out:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "metatide", "connect"],
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                preexec_fn=die_with_parent(signal.SIGKILL),
            )

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def end(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(30)

    def until(self, what: Callable[[], bool]) -> None:
        def alive() -> bool:
            assert self.process.poll() is None, self._log.read_text()
            return what()

        until(alive, self._log.read_text)


@contextmanager
def processes(count: int, url: str, topic: Topic, folder: Path) -> Iterator[list[Process]]:
    started: list[Process] = []
    try:
        for number in range(count):
            own = folder / str(number)
            own.mkdir()
            started.append(Process(url, topic, own))
        yield started
    finally:
        for process in started:
            process.kill()


Writers = list[Future[None]]


@contextmanager
def in_threads(write: Callable[[int], None], count: int) -> Iterator[Writers]:
    """Calls with the numbers from 0 on, at the same time."""
    with ThreadPoolExecutor(count) as pool:
        writers = [pool.submit(write, number) for number in range(count)]
        yield writers
    for process in writers:
        process.result()


def writing(store: Store, events: int) -> AbstractContextManager[Writers]:
    """Two workloads, as two metastores would be."""

    def write(seed: int) -> None:
        workload = Workload(store.ids, store.session, store.schema, SIZE, Style(seed=seed))
        pace = Pace(Limits(events=events // 2, events_per_s=400))
        workload.prepare(Pace(Limits()))
        pace.begin(workload.events)
        workload.run(WRITERS, pace)

    return in_threads(write, 2)


def expected(
    store: Store, topic: Topic, transactions: TransactionTables | None
) -> list[dict[int, tuple[AnyAction, ...]]]:
    """For each shard, what each event does there. Without `transactions`, these end everywhere."""
    shards: list[dict[int, tuple[AnyAction, ...]]] = [{} for _ in range(topic.shards)]
    renames = Renames()
    for row in workload_runs.notification_rows(store):
        event = decode(row)
        addressed = renames.address(event)
        if transactions is not None:
            addressed = transactions.address(event, addressed)
        for shard, actions in route(addressed, topic.shards).items():
            shards[shard][row.event_id] = actions
    return shards


def published(messages: list[Message], topic: Topic) -> list[dict[int, tuple[AnyAction, ...]]]:
    """The same from the topic; what is there twice must say the same twice."""
    shards: list[dict[int, tuple[AnyAction, ...]]] = []
    for shard in range(topic.shards):
        by_event: dict[int, tuple[AnyAction, ...]] = {}
        for change in changes(messages, shard):
            assert change.parts == 1
            if change.actions:
                earlier = by_event.setdefault(change.upto, change.actions)
                assert earlier == change.actions
        shards.append(by_event)
    return shards


def last_event(store: Store) -> int:
    sequence = store.metadata.tables["NOTIFICATION_SEQUENCE"].c.NEXT_EVENT_ID
    with store.engine.connect() as connection:
        return int(connection.scalar(sa.select(sequence)) or 0) - 1


def position(topic: Topic) -> int:
    return min(upto or 0 for upto in tails.find(topic).upto)


def assert_all_there(store: Store, topic: Topic) -> None:
    messages = read(topic)
    assert assert_unbroken(messages, topic) >= last_event(store)
    # A connector that begins later knows of fewer transactions where they end.
    needed, possible = (
        expected(store, topic, transactions) for transactions in (TransactionTables(), None)
    )
    for shard, by_event in enumerate(published(messages, topic)):
        assert {event: by_event.get(event) for event in needed[shard]} == needed[shard]
        assert {event: possible[shard].get(event) for event in by_event} == by_event


def kill_again_and_again(
    url: str,
    topic: Topic,
    folder: Path,
    kills_min: int,
    writing: AbstractContextManager[Writers],
) -> None:
    """Until all is written: whenever the connector has come further, it is killed."""
    store, rng, kills = Store(url), Random(5), 0
    events.create(topic)
    with processes(1, url, topic, folder) as [process]:
        with writing as writers:
            process.until(lambda: position(topic) > 0)
            while kills < kills_min or not all(writer.done() for writer in writers):
                before = position(topic)
                caught_up = before >= last_event(store)
                process.until(lambda: caught_up or position(topic) > before)  # noqa: B023
                time.sleep(rng.random() / 2)
                process.kill()
                process.start()
                kills += 1
        process.until(lambda: position(topic) >= last_event(store))
    assert_all_there(store, topic)


def test_one_that_is_killed_again_and_again_loses_nothing(
    new_metastore_database: Callable[[], str], kafka_broker: str, tmp_path: Path
) -> None:
    url = new_metastore_database()
    store = Store(url)
    writers = writing(store, EVENTS)
    kill_again_and_again(url, new_topic(kafka_broker, 6), tmp_path, KILLS_MIN, writers)
    assert last_event(store) >= EVENTS


def calling(instances: Instances, rounds: int) -> AbstractContextManager[Writers]:
    """Four writers who call two metastores in turn."""

    def write(number: int) -> None:
        database = f"w{number}"
        with instances.connect(number % len(instances.addresses)) as client:
            client.create_database(database)
            for round_ in range(rounds):
                name = f"t{round_}"
                table = client.create_table(objects.table(database, name, COLUMNS, KEYS))
                for value, finish in (("a", client.commit), ("b", client.abort)):
                    txn = client.open_transaction()
                    write_id = client.allocate_write_id(txn, database, name)
                    client.add_partitions(table, [[value]], write_id=write_id)
                    finish(txn)
                plain = objects.table(database, f"p{round_}", COLUMNS, transactional=False)
                renamed = client.create_table(plain)
                renamed.tableName = f"r{round_}"
                client.alter_table(database, f"p{round_}", renamed)
                client.rpc.drop_table(database, f"r{round_}", False)

    return in_threads(write, 4)


@pytest.mark.hive
@pytest.mark.parametrize(
    ("rounds", "kills_min"),
    [(6, 2), pytest.param(110, 40, marks=[pytest.mark.torture, pytest.mark.timeout(1_800)])],
)
def test_nothing_that_two_metastores_say_is_lost(
    metastore_factory: MetastoreFactory,
    kafka_broker: str,
    tmp_path: Path,
    rounds: int,
    kills_min: int,
) -> None:
    instances = metastore_factory(instances=2)
    url, topic = instances.database_url, new_topic(kafka_broker, 6)
    kill_again_and_again(url, topic, tmp_path, kills_min, calling(instances, rounds))
    assert last_event(Store(url)) >= 4 * 12 * rounds


def test_two_at_once_one_of_which_sleeps_lose_nothing(
    new_metastore_database: Callable[[], str], kafka_broker: str, tmp_path: Path
) -> None:
    url, topic = new_metastore_database(), new_topic(kafka_broker, 6)
    store = Store(url)
    events.create(topic)
    with processes(2, url, topic, tmp_path) as [first, other]:
        with writing(store, EVENTS // 5) as writers:
            for each in (first, other):
                each.until(lambda: position(topic) > 0)
            other.process.send_signal(signal.SIGSTOP)
            for writer in writers:
                writer.result()
            first.until(lambda: position(topic) >= last_event(store))
        before = topic_bounds(topic)
        first.kill()
        other.process.send_signal(signal.SIGCONT)
        with writing(store, 200):
            pass
        other.until(lambda: position(topic) >= last_event(store))
        assert topic_bounds(topic) != before
        assert other.end() == 0
    assert_all_there(store, topic)
