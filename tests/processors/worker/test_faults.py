"""Faults while a workload goes on: no record is lost or reordered, and no read was ever wrong.

Faults come every two seconds: before a group has settled after one, the next one hits. A stopped
worker stays so for longer than its session, while others are hurt.
"""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Event, Thread

import pytest

from metatide.cli.digest import _digests
from processors.replay.replay import rebuild
from state.records import encode
from state.store import MemoryBudget
from state.topic import TopicClient
from tests.processors.worker.faults import Cluster
from tests.support.kafka.broker import MortalBroker, mortal_broker
from tests.support.kafka.topics import TopicWriter, new_topic
from tests.support.tables import Metastore
from tests.support.workers import end_all

pytestmark = [pytest.mark.slow, pytest.mark.by_turns(4, of="crashes")]

SHARDS = 12
WORKERS = 3
EVENTS_PER_S = 200
TICK_S = 0.05
FAULT_EVERY_S = 2.0
SETTLED_S = 240.0
READS_MIN = 100
BUDGET = MemoryBudget(64 << 20)


@pytest.fixture
def broker() -> Iterator[MortalBroker]:
    with mortal_broker() as broker:
        yield broker


def work(metastore: Metastore, writer: TopicWriter, stop: Event) -> None:
    """Publishes as a connector does: events, and every 200 ms how far all shards are."""
    due, ticks = time.monotonic(), 0
    while not stop.is_set():
        ticks += 1
        for shard, record in metastore.records(int(EVENTS_PER_S * TICK_S)):
            writer.write(shard, [encode(record)])
        if ticks % 4 == 0:
            for shard, record in metastore.progress():
                writer.write(shard, [encode(record)])
        due += TICK_S
        time.sleep(max(0.0, due - time.monotonic()))
    for shard, record in metastore.progress():
        writer.write(shard, [encode(record)])
    writer.flush()


def until_settled(cluster: Cluster, ends: dict[int, int]) -> dict[int, Path]:
    """The store of each shard's owner, once all of them are at the end of the topic."""
    deadline = time.monotonic() + SETTLED_S
    while True:
        paths: dict[int, Path] = {}
        statuses = [(worker, worker.status()) for worker in cluster.workers]
        for worker, status in statuses:
            for shard_status in status["shards"] if status is not None and status["ready"] else ():
                if shard_status["offset"] == ends[shard_status["shard"]]:
                    paths[shard_status["shard"]] = worker.directory.store(shard_status["shard"])
        if paths.keys() == ends.keys():
            return paths
        assert time.monotonic() < deadline, statuses
        time.sleep(0.1)


def wrong_reads(folder: Path, metastore: Metastore) -> tuple[int, list[str]]:
    """How many reads there were, and those that told what was not."""
    count, wrong = 0, []
    for path in folder.glob("*.reads"):
        for line in path.read_text().splitlines():
            try:
                shard, epoch, event, table, digest = json.loads(line)
            except json.JSONDecodeError:
                continue  # kill -9 came in the middle of it
            count += 1
            if digest != metastore.was(table, event):
                wrong.append(f"{path.name}: {shard} {epoch}:{event} {table}: {digest}")
    return count, wrong


def torment(faults: int, broker: MortalBroker, folder: Path, seed: int) -> None:
    topic = new_topic(broker.address, SHARDS)
    metastore, writer = Metastore(60, SHARDS, seed), TopicWriter(topic)
    cluster = Cluster(topic, folder, broker, seed)
    stop = Event()
    publishing = Thread(target=work, args=(metastore, writer, stop))
    try:
        for _ in range(WORKERS):
            cluster.add()
        for worker in cluster.workers:
            worker.until(lambda status: status["ready"], SETTLED_S)
        publishing.start()
        for number in range(faults):
            due = time.monotonic() + FAULT_EVERY_S
            print(f"{number}: event {metastore.event}: {cluster.hurt()}", flush=True)
            while time.monotonic() < due:
                time.sleep(0.05)
                cluster.tend()
        stop.set()
        publishing.join()
        cluster.heal()
        ends = dict(TopicClient(broker.address, topic.name).ends(range(SHARDS)))
        stores = until_settled(cluster, ends)
        broker.kill()
        assert set(end_all(cluster.workers)) == {0}, "a worker ends well without brokers, too"
        broker.start()
    finally:
        stop.set()
        if publishing.is_alive():
            publishing.join()
        cluster.end()
    count, wrong = wrong_reads(folder, metastore)
    assert not wrong[:10]
    assert count > READS_MIN, "hardly anything was read"
    for shard, path in stores.items():
        rebuild(topic, shard, folder / f"fresh-{shard}", BUDGET)
        assert _digests(path) == _digests(folder / f"fresh-{shard}")


@pytest.mark.timeout(900)
def test_after_faults_all_is_as_replayed(broker: MortalBroker, tmp_path: Path) -> None:
    torment(25, broker, tmp_path, seed=2)


@pytest.mark.torture
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("seed", [3, 4])
def test_after_many_faults(seed: int, broker: MortalBroker, tmp_path: Path) -> None:
    torment(100, broker, tmp_path, seed)
