"""`metatide image once` and `follow`: images kept fresh by Structured Streaming."""

import contextlib
import json
import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from unittest.mock import MagicMock, Mock

import psutil
import pytest
from click.testing import CliRunner
from structlog.testing import capture_logs

from hive.errors import MachineError, StorageError, TaskError
from metatide.cli import root
from metatide.cli.digest import _digests
from processors.replay.replay import rebuild, replay
from processors.spark import executor_store, follow
from processors.spark.build import Place, _build
from processors.spark.follow import _fold
from state.image import Images, repository
from state.records import AnyRecord, Skip, encode
from state.store import MemoryBudget, Store
from state.store.families import SHARD_FAMILIES, shard_identity
from state.topic import Topic, TopicReader
from state.topic.client import topic_bounds
from tests.support.engines.spark import MASTER, USES_SPARK
from tests.support.histories import OTHERS, RECORDS, fold, image
from tests.support.kafka.topics import (
    TopicWriter,
    delete_before,
    delete_topic,
    log_records,
    new_topic,
    write,
)
from tests.support.processes import spawn

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SHARDS = 2
MEMORY = 32 << 20
PATIENCE_S = 600
# Five kills each.
AT_LENGTH = [pytest.param(seed, marks=pytest.mark.torture) for seed in range(1, 5)]


@pytest.fixture(scope="module")
def records() -> dict[int, list[AnyRecord]]:
    return log_records("four-writers", SHARDS)


@pytest.fixture
def topic(kafka_broker: str) -> Topic:
    return new_topic(kafka_broker, SHARDS)


def arguments(topic: Topic, folder: Path, *command: str) -> list[str]:
    options = ["--data-dir", str(folder), "--kafka", topic.servers]
    return [*command, *options, "--images", str(folder / "images")]


def once(topic: Topic, folder: Path) -> list[int]:
    """The offsets of the images that it made."""
    environment = {"METATIDE_KAFKA_TOPIC": topic.name, "METATIDE_STATE_MEMORY_MIB": "32"}
    command = arguments(topic, folder, "image", "once")
    result = CliRunner().invoke(root, command, env=environment)
    assert result.exit_code == 0, result.output
    return [one["offset"] for one in sorted(map(json.loads, result.stdout.splitlines()), key=str)]


def check(topic: Topic, folder: Path) -> None:
    """The images are what a replay is."""
    images = Images(str(folder / "images"), MemoryBudget(MEMORY))
    for shard in range(SHARDS):
        restored, replayed = folder / f"restored-{shard}", folder / f"replayed-{shard}"
        assert images.restore_newest(shard_identity(topic, shard), restored)
        rebuild(topic, shard, replayed, MemoryBudget(MEMORY))
        assert _digests(restored) == _digests(replayed)
        shutil.rmtree(restored)
        shutil.rmtree(replayed)


class TestOnce:
    pytestmark = USES_SPARK

    def test_an_image_goes_on_from_the_one_before(
        self, topic: Topic, records: dict[int, list[AnyRecord]], tmp_path: Path
    ) -> None:
        write(topic, records, 0, 100)
        assert once(topic, tmp_path) == [100, 100]
        assert once(topic, tmp_path) == []
        write(topic, {0: records[0]}, 100, 300)
        assert once(topic, tmp_path) == [300]
        shutil.rmtree(tmp_path / "images")
        write(topic, {1: records[1]}, 100, 200)
        assert sorted(once(topic, tmp_path)) == [200, 300]
        check(topic, tmp_path)

    def test_what_an_order_skips_is_skipped(
        self, topic: Topic, records: dict[int, list[AnyRecord]], tmp_path: Path
    ) -> None:
        """Spark brings the record, and the order in the same batch or in a later one."""
        writer = TopicWriter(topic)
        writer.write(0, [*map(encode, records[0][:50]), b"garbage", encode(Skip(0, 50, 50))])
        writer.write(0, map(encode, records[0][50:100]))
        writer.flush()
        assert once(topic, tmp_path) == [102]
        write(topic, records, 100, 150)
        assert sorted(once(topic, tmp_path)) == [50, 152]
        check(topic, tmp_path)

    def test_what_an_executor_had_is_fetched_by_another(
        self,
        spark: "SparkSession",
        topic: Topic,
        records: dict[int, list[AnyRecord]],
        tmp_path: Path,
    ) -> None:
        """The store that is kept is lost, then damaged: the image takes its place."""

        def folder(_: int) -> str:
            return str(executor_store._folder(topic))

        write(topic, records, 0, 100)
        once(topic, tmp_path)
        [where] = set(spark.sparkContext.parallelize([0], 1).map(folder).collect())
        assert {one.name for one in Path(where).iterdir()} == {"0", "1"}
        shutil.rmtree(Path(where) / "0")
        (Path(where) / "1" / "CURRENT").write_bytes(b"junk")
        write(topic, records, 100, 200)
        assert once(topic, tmp_path) == [200, 200]
        check(topic, tmp_path)


class Row(NamedTuple):
    """A record as Spark's source brings it."""

    partition: int
    offset: int
    value: bytes


class TestAnotherTopic:
    """The topic is created anew, and has as many records as the one before or more."""

    def test_no_image_is_made_of_its_records(
        self,
        topic: Topic,
        records: dict[int, list[AnyRecord]],
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setenv("SPARK_LOCAL_DIRS", str(tmp_path))
        place = Place(str(tmp_path / "images"), MEMORY)
        rows = [Row(0, offset, encode(record)) for offset, record in enumerate(records[0][:100])]
        write(topic, records, 0, 50)
        [made] = _fold(topic, place, 3, rows[:50])
        assert made.offset == 50
        delete_topic(topic.servers, topic.name)
        again = new_topic(topic.servers, SHARDS, topic.name)
        write(again, records, 0, 100)
        with pytest.raises(TaskError, match="created anew"):
            list(_fold(topic, place, 3, rows))
        images = Images(place.url, MemoryBudget(MEMORY))
        assert [one.position.offset for one in images.of(shard_identity(topic, 0))] == [50]

    def test_it_ends_the_query_that_waits(
        self, topic: Topic, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(follow, "SAME_TOPIC_S", 0)
        query = Mock()
        query.awaitTermination.side_effect = [False, False, True]
        follow._await(query, topic)
        assert query.stop.call_count == 1
        delete_topic(topic.servers, topic.name)
        new_topic(topic.servers, SHARDS, topic.name)
        query.awaitTermination.side_effect = [False, True]
        with pytest.raises(MachineError, match="created anew"):
            follow._await(query, topic)
        assert query.stop.call_count == 2


class TestLostRecords:
    """The topic has lost what the newest image holds, and has grown beyond it since."""

    def test_it_begins_without_them(self, kafka_broker: str, tmp_path: Path) -> None:
        topic, place = new_topic(kafka_broker, 1), Place(str(tmp_path / "images"), MEMORY)
        write(topic, {0: OTHERS})
        images = Images(place.url, MemoryBudget(MEMORY))
        image(topic, images, tmp_path, OTHERS[:5])
        image(topic, images, tmp_path, RECORDS)
        follower = follow.Follower(Mock(), topic, place, 3, print)
        assert json.loads(follower._starts(topic_bounds(topic))) == {topic.name: {"0": 5}}

    def test_neither_the_image_nor_what_an_executor_kept_is_gone_on_with(
        self, kafka_broker: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("SPARK_LOCAL_DIRS", str(tmp_path))
        topic, place = new_topic(kafka_broker, 1), Place(str(tmp_path / "images"), MEMORY)
        write(topic, {0: OTHERS})
        images = Images(place.url, MemoryBudget(MEMORY))
        image(topic, images, tmp_path, RECORDS)
        fold(topic, executor_store._folder(topic) / "0", RECORDS)
        [made] = _fold(topic, place, 3, [Row(0, 20, encode(OTHERS[20]))])
        assert made.offset == len(OTHERS)
        fold(topic, tmp_path / "replayed", OTHERS)
        images.restore(images.of(shard_identity(topic, 0))[0], tmp_path / "restored")
        assert _digests(tmp_path / "restored") == _digests(tmp_path / "replayed")


class TestAnExecutor:
    """What it does with the records that Spark brings, in the process of the test."""

    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("SPARK_LOCAL_DIRS", str(tmp_path))

    def test_a_kept_store_that_is_lost_or_damaged_is_restored(
        self, topic: Topic, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("processors.applier.RECORDS_MAX", 4)
        place = Place(str(tmp_path / "images"), MEMORY)
        rows = [Row(0, offset, encode(record)) for offset, record in enumerate(RECORDS[:18])]
        write(topic, {0: RECORDS[:18]})
        kept_path = executor_store._folder(topic) / "0"
        assert [made.offset for made in _fold(topic, place, 3, rows[:6])] == [6]
        shutil.rmtree(kept_path)
        with capture_logs() as logs:
            assert [made.offset for made in _fold(topic, place, 3, rows[6:12])] == [12]
            assert not logs
            (kept_path / "CURRENT").write_bytes(b"junk")
            assert [made.offset for made in _fold(topic, place, 3, rows[12:])] == [18]
        assert [line["event"] for line in logs] == ["a kept store can't be used"]
        fold(topic, tmp_path / "folded", RECORDS[:18])
        assert _digests(kept_path) == _digests(tmp_path / "folded")

    def test_what_an_image_holds_already_makes_no_other(self, topic: Topic, tmp_path: Path) -> None:
        place = Place(str(tmp_path / "images"), MEMORY)
        rows = [Row(0, offset, encode(record)) for offset, record in enumerate(RECORDS[:5])]
        write(topic, {0: RECORDS[:5]})
        assert len(list(_fold(topic, place, 3, rows))) == 1
        assert list(_fold(topic, place, 3, rows)) == list(_fold(topic, place, 3, [])) == []

    def test_a_record_that_an_order_skips_is_passed_over(
        self, topic: Topic, tmp_path: Path
    ) -> None:
        place = Place(str(tmp_path / "images"), MEMORY)
        values = [encode(RECORDS[0]), b"garbage", encode(RECORDS[1]), encode(Skip(0, 1, 1))]
        writer = TopicWriter(topic)
        writer.write(0, values)
        writer.flush()
        rows = [Row(0, offset, value) for offset, value in enumerate(values)]
        assert [made.offset for made in _fold(topic, place, 3, rows)] == [4]

    def test_an_image_of_a_whole_topic_ends_where_it_is_told(
        self, topic: Topic, tmp_path: Path
    ) -> None:
        write(topic, {0: RECORDS[:9]})
        place = Place(str(tmp_path / "images"), MEMORY)
        made = _build(topic, place, (0, 7))
        images = Images(place.url, MemoryBudget(MEMORY))
        images.restore(images.of(shard_identity(topic, 0))[0], tmp_path / "restored")
        fold(topic, tmp_path / "folded", RECORDS[:7])
        assert made.offset == 7
        assert _digests(tmp_path / "restored") == _digests(tmp_path / "folded")


def test_it_follows_in_batches_of_a_time(topic: Topic, tmp_path: Path) -> None:
    session = MagicMock()
    place = Place(str(tmp_path / "images"), MEMORY)
    follow.Follower(session, topic, place, 3, print).follow(topic_bounds(topic), 0.5)
    triggers = [each for each in session.mock_calls if each[0].endswith(".trigger")]
    assert [each.kwargs for each in triggers] == [{"processingTime": "0.5 seconds"}]


def test_an_image_is_reported_though_old_ones_are_not_pruned(
    topic: Topic, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPARK_LOCAL_DIRS", str(tmp_path))
    monkeypatch.setattr(Images, "prune", Mock(side_effect=StorageError("nothing answers")))
    write(topic, {0: RECORDS[:1]})
    place = Place(str(tmp_path / "images"), MEMORY)
    [made] = _fold(topic, place, 3, [Row(0, 0, encode(RECORDS[0]))])
    assert made.offset == 1


class TestTrimmedTopic:
    """The topic was trimmed beyond the newest image."""

    def test_the_next_image_is_what_a_replay_is(
        self,
        topic: Topic,
        records: dict[int, list[AnyRecord]],
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setenv("SPARK_LOCAL_DIRS", str(tmp_path))
        place = Place(str(tmp_path / "images"), MEMORY)
        rows = [Row(0, offset, encode(record)) for offset, record in enumerate(records[0][:100])]
        write(topic, records, 0, 100)
        list(_fold(topic, place, 3, rows[:50]))
        fold(topic, tmp_path / "replayed", records[0][:50])
        delete_before(topic, 0, 70)
        [made] = _fold(topic, place, 3, rows[70:])
        assert made.offset == 100
        identity, budget = shard_identity(topic, 0), MemoryBudget(MEMORY)
        path = tmp_path / "replayed"
        with (
            Store(path, identity, families=SHARD_FAMILIES, budget=budget) as store,
            TopicReader(topic) as reader,
        ):
            replay(store, reader)
        images = Images(place.url, budget)
        images.restore(images.of(identity)[0], tmp_path / "restored")
        assert _digests(tmp_path / "restored") == _digests(path)


class Following:
    """`metatide image follow`, which may be killed with all its processes, or in part."""

    def __init__(self, topic: Topic, folder: Path) -> None:
        self._command = [sys.executable, "-m", "metatide"]
        self._command += arguments(topic, folder, "image", "follow", "--every", "0.2")
        self._environment = {
            **os.environ,
            "METATIDE_KAFKA_TOPIC": topic.name,
            "METATIDE_STATE_MEMORY_MIB": "32",
            "METATIDE_SPARK_MASTER": MASTER,
        }
        self._out = folder / "follow.out"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self.process = spawn(self._command, self._out, self._environment)

    def pythons(self) -> list[psutil.Process]:
        """The processes in which tasks run."""
        assert self.process is not None
        below = psutil.Process(self.process.pid).children(recursive=True)
        return [one for one in below if _is_python(one)]

    def kill(self) -> None:
        assert self.process is not None
        below = psutil.Process(self.process.pid).children(recursive=True)
        self.process.kill()
        for process in below:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        self.process.wait()

    def until(self, what: Callable[[], bool]) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not what():
            assert time.monotonic() < deadline, self._out.read_text()[-4000:]
            assert self.process is not None
            assert self.process.poll() is None, self._out.read_text()[-4000:]
            time.sleep(0.05)


def _is_python(process: psutil.Process) -> bool:
    try:
        return "pyspark.daemon" in " ".join(process.cmdline())
    except psutil.NoSuchProcess:
        return False


def newest(topic: Topic, folder: Path) -> list[int]:
    images = Images(str(folder / "images"), MemoryBudget(MEMORY))
    found = (next(iter(images.of(shard_identity(topic, shard))), None) for shard in range(SHARDS))
    return [-1 if one is None else one.position.offset for one in found]


def is_at_work(following: Following, moved: Callable[[], bool]) -> bool:
    return bool(following.pythons()) or moved()


def has_moved(topic: Topic, folder: Path, before: list[int]) -> bool:
    return newest(topic, folder) != before


@pytest.mark.timeout(9_000)
@pytest.mark.by_turns(4, of="Spark")
@pytest.mark.parametrize("seed", [pytest.param(0, marks=pytest.mark.spark), *AT_LENGTH])
def test_killed_at_any_time_it_ends_with_the_same_images(
    seed: int,
    topic: Topic,
    records: dict[int, list[AnyRecord]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In turns all processes are killed at once, or one in which a task runs."""
    rng = random.Random(seed)
    following = Following(topic, tmp_path)
    step = min(map(len, records.values())) // 6
    try:
        for turn in range(5):
            moved = partial(has_moved, topic, tmp_path, newest(topic, tmp_path))
            write(topic, records, turn * step, (turn + 1) * step)
            if following.process is None:
                following.start()
            following.until(moved if rng.random() < 0.5 else partial(is_at_work, following, moved))
            time.sleep(rng.random())
            pythons = following.pythons()
            if pythons and rng.random() < 0.5:
                with contextlib.suppress(psutil.NoSuchProcess):
                    rng.choice(pythons).kill()
            else:
                following.kill()
                following.process = None
        write(topic, records, 5 * step, None)
        if following.process is None:
            following.start()
        ends = [len(records[shard]) for shard in range(SHARDS)]
        following.until(lambda: newest(topic, tmp_path) == ends)
    finally:
        if following.process is not None:
            following.kill()
    check(topic, tmp_path)
    monkeypatch.setattr(repository, "YOUNG_S", -1.0)
    images = Images(str(tmp_path / "images"), MemoryBudget(MEMORY))
    needed = set()
    for shard in range(SHARDS):
        images.prune(shard_identity(topic, shard), 1)
        [manifest] = images.of(shard_identity(topic, shard))
        needed |= {one.hash for one in manifest.files}
    files = {one.name for one in (tmp_path / "images").rglob("files/*")}
    assert files == needed
