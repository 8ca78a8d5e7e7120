"""`metatide rebuild`, and the directory that it works in."""

import json
import multiprocessing
import time
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from hive.errors import MachineError, UnreadableRecordError
from metatide.cli import root
from metatide.cli.digest import _digests
from processors.directory import WorkerDirectory
from processors.replay import rebuild as module
from processors.replay.rebuild import PROCESS_BYTES_MIN, Rebuilt, rebuild_shards
from processors.replay.replay import Progress
from state.records import AnyRecord, Change, encode
from state.store import StorePosition
from state.topic import Topic
from tests.support.kafka.topics import TopicWriter, delete_before, log_records, new_topic, write

SHARDS = 3


@pytest.fixture(scope="module")
def records() -> dict[int, list[AnyRecord]]:
    return log_records("every-event-json", SHARDS)


@pytest.fixture(scope="module")
def topic(kafka_broker: str, records: dict[int, list[AnyRecord]]) -> Topic:
    topic = new_topic(kafka_broker, SHARDS)
    write(topic, records)
    return topic


def rebuild(topic: Topic, data_dir: Path, *options: str) -> Result:
    environment = {"METATIDE_KAFKA_TOPIC": topic.name}
    arguments = ["rebuild", "--data-dir", str(data_dir), "--kafka", topic.servers, *options]
    return CliRunner().invoke(root, arguments, env=environment)


def test_all_shards_are_built_and_again_the_same(
    topic: Topic, records: dict[int, list[AnyRecord]], tmp_path: Path
) -> None:
    directory = WorkerDirectory(tmp_path / "workers" / "worker-1")
    digests = []
    for _ in range(2):
        result = rebuild(topic, tmp_path)
        assert result.exit_code == 0, result.output
        shards = json.loads(result.stdout)["shards"]
        assert [one["offset"] for one in shards] == [len(records[shard]) for shard in range(SHARDS)]
        digests.append([_digests(directory.store(shard)) for shard in range(SHARDS)])
        assert directory.shards() == [0, 1, 2]
        assert {one.name for one in directory.store(0).parent.iterdir()} == {"0", "1", "2"}
    assert digests[0] == digests[1]


def test_one_shard_alone_leaves_the_others(topic: Topic, tmp_path: Path) -> None:
    directory = WorkerDirectory(tmp_path / "workers" / "worker-1")
    half = directory.new(1)
    half.mkdir(parents=True)
    (half / "left by a crash").touch()
    result = rebuild(topic, tmp_path, "--shard", "1")
    assert result.exit_code == 0, result.output
    assert directory.shards() == [1]
    assert _digests(directory.store(1))["shard"] == 1


def test_a_shard_that_there_is_not_is_refused(topic: Topic, tmp_path: Path) -> None:
    result = rebuild(topic, tmp_path, "--shard", "3")
    assert "has 0 to 2" in str(result.exception)


@pytest.mark.parametrize("engine", ["replay", "spark"])
def test_a_trimmed_topic_is_refused(
    kafka_broker: str, records: dict[int, list[AnyRecord]], tmp_path: Path, engine: str
) -> None:
    topic = new_topic(kafka_broker, SHARDS)
    write(topic, records, 0, 20)
    delete_before(topic, 1, 10)
    options = ("--engine", engine, "--images", str(tmp_path / "images"))
    result = rebuild(topic, tmp_path, *options)
    assert "has lost the start of shard 1," in str(result.exception)
    assert not [*tmp_path.rglob("shards/*"), *tmp_path.rglob("manifests/*")]
    assert rebuild(topic, tmp_path, "--shard", "2").exit_code == 0


def test_the_directory_of_a_running_worker_is_refused(topic: Topic, tmp_path: Path) -> None:
    with WorkerDirectory(tmp_path / "workers" / "worker-1").owned():
        result = rebuild(topic, tmp_path)
    assert "works in" in str(result.exception)
    assert rebuild(topic, tmp_path, "--shard", "0").exit_code == 0


def test_a_record_that_cannot_be_read_is_told_by_another_process(
    kafka_broker: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "usable_cores", lambda: 2)
    topic = new_topic(kafka_broker, 2)
    writer = TopicWriter(topic)
    for shard, value in enumerate((b"garbage", encode(Change(0, 0, 1)))):
        writer.write(shard, [value])
    writer.flush()
    with pytest.raises(UnreadableRecordError, match="shard 0 stops at offset 0"):
        rebuild_shards(topic, range(2), tmp_path, 64 << 20, lambda _: None)


def fail_or_report(_: Topic, shard: int) -> Rebuilt:
    """The work of a process: one shard fails, one has more to report than a pipe holds."""
    assert module._process is not None
    if shard == 0:
        raise MachineError("shard 0 is damaged")
    module._process.directory.new(shard).mkdir(parents=True)
    # By now the failure is known.
    time.sleep(1.0)
    for done in range(5_000):
        module._process.report(Progress(shard, 0, done, 5_000))
    return Rebuilt(shard, StorePosition())


@pytest.mark.timeout(60)
def test_a_shard_that_fails_leaves_those_that_have_begun(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "usable_cores", lambda: 2)
    monkeypatch.setattr(module, "_work", fail_or_report)
    nowhere, shards, reports = Topic("127.0.0.1:1", "events", 9, {}, "id"), range(9), list[int]()
    with pytest.raises(MachineError, match="shard 0 is damaged"):
        rebuild_shards(
            nowhere, shards, tmp_path, 64 << 20, lambda report: reports.append(report.done)
        )
    assert reports[-1] == 4_999
    begun = {path.name for path in tmp_path.rglob("*") if path.name.startswith("8")}
    assert not begun, "the last shard is left out"


@pytest.mark.timeout(60)
def test_a_rebuild_that_hears_no_more_reports_waits_for_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As at an interrupt: processes that have more to report than a pipe holds end, too."""

    def interrupt(_: Progress) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "usable_cores", lambda: 2)
    monkeypatch.setattr(module, "_work", fail_or_report)
    nowhere = Topic("127.0.0.1:1", "events", 9, {}, "id")
    # As long as the error is there, so is all that its frames hold.
    with pytest.raises(KeyboardInterrupt) as _interrupted:
        rebuild_shards(nowhere, range(1, 3), tmp_path, 64 << 20, interrupt)
    for process in multiprocessing.active_children():
        process.join()


def test_processes_share_the_memory(
    topic: Topic, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many cores there are."""
    monkeypatch.setattr(module, "usable_cores", lambda: 192)
    rebuilt = rebuild_shards(topic, range(SHARDS), tmp_path, PROCESS_BYTES_MIN, lambda _: None)
    assert [shard.shard for shard in rebuilt] == [*range(SHARDS)]
