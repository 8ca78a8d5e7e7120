"""Real worker processes on a real broker."""

import signal
import time
from pathlib import Path

import pytest
from confluent_kafka import Consumer, TopicPartition

from metatide.cli.digest import _digests
from processors.replay.replay import rebuild
from state.records import AnyRecord, Change
from state.store import MemoryBudget
from state.topic import Topic
from state.topic.settings import QUIET
from tests.support.kafka.topics import TopicWriter, delete_topic, log_records, new_topic, write
from tests.support.tables import Metastore
from tests.support.workers import PATIENCE_S, WorkerProcess, workers

pytestmark = pytest.mark.slow

SHARDS = 4
BUDGET = MemoryBudget(64 << 20)
Records = dict[int, list[AnyRecord]]


@pytest.fixture(scope="module")
def records() -> Records:
    return log_records("one-writer", SHARDS)


@pytest.fixture
def topic(kafka_broker: str) -> Topic:
    return new_topic(kafka_broker, SHARDS)


def ends(records: Records) -> dict[int, int]:
    return {shard: len(found) for shard, found in records.items()}


def until_committed(topic: Topic, group: str, offsets: dict[int, int]) -> None:
    """What the tools that show a group's lag go by."""
    consumer = Consumer({"bootstrap.servers": topic.servers, "group.id": group}, logger=QUIET)
    where = [TopicPartition(topic.name, shard) for shard in offsets]
    deadline = time.monotonic() + PATIENCE_S
    while True:
        committed = {one.partition: one.offset for one in consumer.committed(where, timeout=30)}
        if committed == offsets:
            break
        assert time.monotonic() < deadline, committed
        time.sleep(0.1)
    consumer.close()


def assert_as_replayed(topic: Topic, worker: WorkerProcess, folder: Path) -> None:
    """What the stopped worker holds is what a fresh replay of the topic makes."""
    folder.mkdir()
    for shard in worker.directory.shards():
        rebuild(topic, shard, folder / str(shard), BUDGET)
        assert _digests(worker.directory.store(shard)) == _digests(folder / str(shard))


def test_live_then_kept(topic: Topic, records: Records, tmp_path: Path) -> None:
    worker = WorkerProcess(topic, tmp_path, "one")
    write(topic, records, 0, 200)
    with workers(worker):
        worker.until_at(dict.fromkeys(range(SHARDS), 200))
        write(topic, records, 200)
        worker.until_at(ends(records))
        assert worker.end() == 0
        assert_as_replayed(topic, worker, tmp_path / "live")
        worker.start()
        worker.until_at(ends(records))
        assert worker.end() == 0
        assert_as_replayed(topic, worker, tmp_path / "kept")


def test_a_shard_that_a_crash_left_behind_goes_on(
    topic: Topic, records: Records, tmp_path: Path
) -> None:
    """Nothing of what is committed and not yet flushed is missed after kill -9."""
    worker = WorkerProcess(topic, tmp_path, "one", METATIDE_WORKER_FLUSH_S="600")
    with workers(worker):
        worker.until_ready(SHARDS)
        write(topic, records)
        worker.until_at(ends(records))
        worker.end(signal.SIGKILL)
        worker.start()
        worker.until_at(ends(records))
        assert worker.end() == 0
    assert_as_replayed(topic, worker, tmp_path / "replayed")


def test_it_may_be_ended_in_the_middle_of_a_recovery(topic: Topic, tmp_path: Path) -> None:
    worker, metastore = WorkerProcess(topic, tmp_path, "one"), Metastore(60, SHARDS, seed=1)
    records: Records = {shard: [] for shard in range(SHARDS)}
    for shard, record in metastore.records(20_000):
        records[shard].append(record)
    write(topic, records)
    with workers(worker):
        worker.until(lambda status: any(one["offset"] for one in status["shards"]))
        assert worker.end() == 0
        worker.start()
        worker.until_at(ends(records))
        assert worker.end() == 0
    assert_as_replayed(topic, worker, tmp_path / "replayed")


def test_shards_move_with_the_members(topic: Topic, records: Records, tmp_path: Path) -> None:
    first, second = (WorkerProcess(topic, tmp_path, name) for name in ("one", "two"))
    write(topic, records, 0, 100)
    with workers(first):
        first.until_ready(SHARDS)
        with workers(second):
            staying = {shard["shard"] for shard in first.until_ready(2)["shards"]}
            taken = {shard["shard"] for shard in second.until_ready(2)["shards"]}
            assert staying | taken == set(range(SHARDS))
            write(topic, records, 100, 200)
            first.until_at(dict.fromkeys(staying, 200))
            second.until_at(dict.fromkeys(taken, 200))
            assert second.end() == 0
        write(topic, records, 200)
        first.until_at(ends(records))
        assert first.end() == 0
    assert_as_replayed(topic, first, tmp_path / "replayed")


def test_two_groups_are_two_replicas(topic: Topic, records: Records, tmp_path: Path) -> None:
    first = WorkerProcess(topic, tmp_path, "one")
    second = WorkerProcess(topic, tmp_path, "two", METATIDE_WORKER_GROUP=f"{topic.name}-2")
    write(topic, records, 0, 300)
    with workers(first, second):
        for worker in (first, second):
            worker.until_ready(SHARDS)
        write(topic, records, 300)
        for worker in (first, second):
            worker.until_at(ends(records))
        for group in (topic.name, f"{topic.name}-2"):
            until_committed(topic, group, ends(records))
        for worker in (first, second):
            assert worker.end() == 0
    for shard in range(SHARDS):
        assert _digests(first.directory.store(shard)) == _digests(second.directory.store(shard))


def test_a_corrupt_store_is_set_aside_and_rebuilt(
    topic: Topic, records: Records, tmp_path: Path
) -> None:
    worker = WorkerProcess(topic, tmp_path, "one")
    write(topic, records)
    with workers(worker):
        worker.until_at(ends(records))
        assert worker.end() == 0
        (worker.directory.store(2) / "CURRENT").unlink()
        worker.start()
        worker.until_at(ends(records))
        assert worker.end() == 0
    assert worker.directory.store(2).with_name("2.cold").exists()
    assert "CURRENT" in worker.log.read_text()
    assert_as_replayed(topic, worker, tmp_path / "replayed")


def test_a_topic_made_anew_is_another_history(
    topic: Topic, records: Records, tmp_path: Path
) -> None:
    worker = WorkerProcess(topic, tmp_path, "one")
    write(topic, records)
    with workers(worker):
        worker.until_at(ends(records))
        delete_topic(topic.servers, topic.name)
        again = new_topic(topic.servers, SHARDS, topic.name)
        assert worker.process is not None
        assert worker.process.wait(60) == 1
        assert "created anew" in worker.log.read_text()
        write(again, records, 0, 50)
        worker.start()
        worker.until_at(dict.fromkeys(range(SHARDS), 50))
        assert worker.end() == 0
    assert_as_replayed(again, worker, tmp_path / "replayed")


def test_a_name_belongs_to_one_process(topic: Topic, tmp_path: Path) -> None:
    worker = WorkerProcess(topic, tmp_path, "one")
    twin = WorkerProcess(topic, tmp_path, "one", METATIDE_WORKER_PORT="0")
    with workers(worker):
        worker.until_ready(SHARDS)
        with workers(twin):
            assert twin.process is not None
            assert twin.process.wait(60) == 1
        assert worker.running
    assert "works in" in worker.log.read_text()


def test_a_record_of_a_later_release_stops_its_shard_only(
    topic: Topic, records: Records, tmp_path: Path
) -> None:
    worker = WorkerProcess(topic, tmp_path, "one")
    writer = TopicWriter(topic)
    writer.write(1, [b"\xffnot of this release"])
    writer.flush()
    write(topic, {0: [Change(0, 0, 7)]})
    with workers(worker):
        status = worker.until(lambda status: any(one["fault"] for one in status["shards"]))
        assert "upgrade the workers" in status["shards"][1]["fault"]
        status = worker.until_ready()
        assert status["shards"][0]["event_id"] == 7, "the other shard serves"
        assert worker.end() == 0
