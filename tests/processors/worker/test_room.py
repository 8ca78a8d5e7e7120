"""Workers that run out of room: nothing gets corrupt, it is said, and they go on when there is."""

import resource
import subprocess
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from hive.names import TableName
from metatide.cli.digest import _digests
from processors.replay.replay import rebuild
from processors.worker.limits import Allowed
from processors.worker.phases import Phase
from processors.worker.status import worker_status
from state.records import AnyRecord, Change
from state.records.actions import CreateTable, PutPartitions
from state.records.objects import PartitionImage, TableImage
from state.store import MemoryBudget
from state.topic import Topic
from tests.processors.worker.in_process import until, working
from tests.support.kafka.topics import new_topic, write
from tests.support.workers import WorkerProcess, workers

TABLE = TableName("hive", "db", "t")
CREATED = Change(0, 0, 1, (CreateTable(TableImage(TABLE, 1, 0, False, True, b"table")),))
BUDGET = MemoryBudget(64 << 20)
PARTITIONS = 500
PARTITION_BYTES = 50_000


@pytest.fixture
def topic(kafka_broker: str) -> Topic:
    return new_topic(kafka_broker, 1)


def large() -> Iterator[AnyRecord]:
    """25 MB that can't be compressed."""
    yield CREATED
    random = Random(1)
    for event in range(2, PARTITIONS + 2):
        image = PartitionImage((str(event),), 0, 1, random.randbytes(PARTITION_BYTES))
        yield Change(0, event - 1, event, (PutPartitions(TABLE, 0, (image,), added=True),))


def worker_without_room(topic: Topic, data_dir: Path) -> WorkerProcess:
    """One that notices only when it fails to write."""
    settings = {"METATIDE_WORKER_FLUSH_S": "1", "METATIDE_WORKER_DISK_FREE_MIN_MIB": "0"}
    return WorkerProcess(topic, data_dir, "one", **settings)


def assert_as_replayed(topic: Topic, worker: WorkerProcess, folder: Path) -> None:
    rebuild(topic, 0, folder / "replayed", BUDGET)
    assert _digests(worker.directory.store(0)) == _digests(folder / "replayed")
    assert not worker.directory.store(0).with_name("0.cold").exists()


def test_files_that_may_not_grow(topic: Topic, tmp_path: Path) -> None:
    """As on a full disk, the kernel refuses to write in the middle of a file."""
    worker = worker_without_room(topic, tmp_path)
    with workers(worker):
        worker.until_ready(1)
        assert worker.process is not None
        pid, unlimited = worker.process.pid, resource.RLIM_INFINITY
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (1 << 20, unlimited))
        write(topic, {0: large()})
        status = worker.until(lambda status: status["shards"][0]["fault"] is not None)
        assert "raise the limit of file sizes" in status["shards"][0]["fault"]
        assert not status["ready"]
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (unlimited, unlimited))
        worker.until_at({0: PARTITIONS + 1})
        assert worker.end() == 0
    assert_as_replayed(topic, worker, tmp_path)


@pytest.mark.torture
def test_a_full_disk(topic: Topic, tmp_path: Path) -> None:
    """Needs the right to mount a file system."""
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "none", disk], check=True)
    try:
        worker = worker_without_room(topic, disk)
        with workers(worker):
            worker.until_ready(1)
            write(topic, {0: large()})
            status = worker.until(lambda status: status["shards"][0]["fault"] is not None)
            assert "free some room on that disk" in status["shards"][0]["fault"]
            subprocess.run(["mount", "-o", "remount,size=200m", disk], check=True)
            worker.until_at({0: PARTITIONS + 1})
            assert worker.end() == 0
        assert_as_replayed(topic, worker, tmp_path)
    finally:
        subprocess.run(["umount", disk], check=True)


async def test_without_room_the_stores_of_shards_that_others_have_go(
    topic: Topic, tmp_path: Path
) -> None:
    """They stay as long as there is room: shards come back."""
    plenty = Allowed(disk_free_bytes_min=0)
    async with working(topic, tmp_path, allowed=plenty) as worker:
        shard, directory = worker.shards[0], worker.directory
        left = [directory.store(7), directory.store(7).with_suffix(".image")]
        for folder in left:
            folder.mkdir()
            (folder / "file").write_bytes(bytes(32 << 20))
        worker.limits.allowed = Allowed(disk_bytes_max=16 << 20, disk_free_bytes_min=0)
        await until(lambda: shard.phase is Phase.OVER_LIMIT)
        await until(lambda: worker.ready)
        assert directory.shards() == [0]
        assert not any(folder.exists() for folder in left)
        write(topic, {0: [CREATED]})
        assert await shard.complete_up_to(0, 1, 30)


@pytest.mark.parametrize(
    ("allowed", "key"),
    [
        (Allowed(disk_bytes_max=1, disk_free_bytes_min=0), "worker.disk_max_mib"),
        (Allowed(disk_free_bytes_min=1 << 60), "make room there"),
        (Allowed(memory_bytes_max=1, disk_free_bytes_min=0), "worker.memory_max_mib"),
    ],
)
async def test_over_its_limit_a_worker_applies_nothing(
    topic: Topic, tmp_path: Path, allowed: Allowed, key: str
) -> None:
    plenty = Allowed(disk_free_bytes_min=0)
    async with working(topic, tmp_path, allowed=plenty) as worker:
        shard = worker.shards[0]
        worker.limits.allowed = allowed
        await until(lambda: shard.phase is Phase.OVER_LIMIT)
        write(topic, {0: [CREATED]})
        assert not await shard.complete_up_to(0, 1, 0.5), "so the database answers"
        status = worker_status(worker)
        # Each says what was measured when it looked, so the figures may differ.
        for fault in (status.fault, status.shards[0].fault):
            assert fault is not None
            assert key in fault
        assert not status.ready
        worker.limits.allowed = plenty
        assert await shard.complete_up_to(0, 1, 30)
        await until(lambda: worker.ready)
        assert worker_status(worker).shards[0].fault is None
