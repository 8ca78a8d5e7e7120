"""`metatide rebuild --engine spark`: images that are what a replay is."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from pyspark.sql import SparkSession

from metatide.cli import root
from metatide.cli.digest import _digests
from processors.directory import WorkerDirectory
from processors.replay.replay import replay
from processors.spark import build
from processors.spark.build import Place, build_images
from state import digest
from state.image import Images, Manifest
from state.records import AnyRecord, Skip, encode
from state.store import MemoryBudget, Store
from state.store.families import SHARD_FAMILIES, shard_identity
from state.topic import Topic, TopicReader
from tests.support.engines.spark import USES_SPARK
from tests.support.kafka.topics import TopicWriter, log_records, new_topic, write
from tests.support.workers import WorkerProcess, workers

pytestmark = [*USES_SPARK, pytest.mark.by_turns(4, of="Spark")]
SHARDS = 3
MEMORY = 32 << 20


@pytest.fixture(scope="module")
def records() -> dict[int, list[AnyRecord]]:
    return log_records("every-event-json", SHARDS)


@pytest.fixture(scope="module")
def topic(kafka_broker: str, records: dict[int, list[AnyRecord]]) -> Topic:
    topic = new_topic(kafka_broker, SHARDS)
    write(topic, records)
    return topic


def run(topic: Topic, folder: Path, *arguments: str) -> Result:
    options = ["--data-dir", str(folder), "--kafka", topic.servers]
    options += ["--images", str(folder / "images")]
    environment = {"METATIDE_KAFKA_TOPIC": topic.name}
    return CliRunner().invoke(root, [*arguments, *options], env=environment)


def test_images_are_what_a_replay_is(topic: Topic, tmp_path: Path) -> None:
    made = run(topic, tmp_path, "rebuild", "--engine", "spark")
    assert made.exit_code == 0, made.output
    lines = json.loads(made.stdout)["shards"]
    assert [one["shard"] for one in lines] == [0, 1, 2]
    assert run(topic, tmp_path, "image", "restore").exit_code == 0
    directory = WorkerDirectory(tmp_path / "workers" / "worker-1")
    restored = [_digests(directory.store(shard)) for shard in range(SHARDS)]
    assert run(topic, tmp_path, "rebuild").exit_code == 0
    assert restored == [_digests(directory.store(shard)) for shard in range(SHARDS)]
    assert [one["exact"] for one in lines] == [one["exact"] for one in restored]


def test_images_are_what_a_worker_folded_live(
    kafka_broker: str, records: dict[int, list[AnyRecord]], tmp_path: Path
) -> None:
    topic = new_topic(kafka_broker, SHARDS)
    worker = WorkerProcess(topic, tmp_path, "live")
    with workers(worker):
        worker.until_ready(SHARDS)
        write(topic, records)
        worker.until_at({shard: len(records[shard]) for shard in range(SHARDS)})
        assert worker.end() == 0
    made = run(topic, tmp_path, "rebuild", "--engine", "spark")
    assert made.exit_code == 0, made.output
    images = Images(str(tmp_path / "images"), MemoryBudget(MEMORY))
    for shard in range(SHARDS):
        restored = tmp_path / f"restored-{shard}"
        assert images.restore_newest(shard_identity(topic, shard), restored)
        assert _digests(restored) == _digests(worker.directory.store(shard))


def test_a_task_that_runs_again_makes_the_same_image(
    spark: SparkSession, topic: Topic, records: dict[int, list[AnyRecord]], tmp_path: Path
) -> None:
    """The topic has grown meanwhile: a try that read on would leave images of other moments."""
    ends = [(0, len(records[0]) - 5)] * 2
    place = Place(str(tmp_path / "images"), MEMORY)
    first, second = build_images(spark.sparkContext, topic, ends, place)
    assert first.exact == second.exact
    assert first.offset == len(records[0]) - 5
    images = Images(place.url, MemoryBudget(MEMORY))
    [manifest] = images.of(shard_identity(topic, 0))
    images.restore(manifest, tmp_path / "restored")
    assert not [*tmp_path.rglob("*.new")]


def test_a_killed_try_leaves_no_half_image(
    spark: SparkSession, topic: Topic, records: dict[int, list[AnyRecord]], tmp_path: Path
) -> None:
    """The process that runs the task first dies when all but the manifest is sent."""
    place = Place(str(tmp_path / "images"), MEMORY)
    context, died = spark.sparkContext, tmp_path / "died"

    def dying(task: tuple[int, int]) -> build.Built:
        import os
        from unittest.mock import patch

        from state.image import manifest as manifests

        encode = manifests.encode

        def once(manifest: Manifest) -> bytes:
            if not died.exists():
                died.touch()
                os._exit(1)
            return encode(manifest)

        with patch.object(manifests, "encode", once):
            return build._build(topic, place, task)

    ends = [(1, len(records[1]))]
    [made] = context.parallelize(ends, 1).map(dying).collect()
    assert died.exists()
    images = Images(place.url, MemoryBudget(MEMORY))
    [manifest] = images.of(shard_identity(topic, 1))
    assert (manifest.exact, manifest.position.offset) == (made.exact, len(records[1]))
    images.restore(manifest, tmp_path / "restored")


def test_what_goes_wrong_is_one_line_with_shard_and_event(
    kafka_broker: str, records: dict[int, list[AnyRecord]], tmp_path: Path
) -> None:
    topic = new_topic(kafka_broker, SHARDS)
    write(topic, records)
    writer = TopicWriter(topic)
    writer.write(1, [b"\x7fjunk"])
    writer.flush()
    result = run(topic, tmp_path, "rebuild", "--engine", "spark")
    message = str(result.exception)
    assert "shard 1, after event" in message
    assert "format 127" in message
    assert "\n" not in message


def test_without_a_place_for_images_it_is_refused(topic: Topic, tmp_path: Path) -> None:
    options = ("--data-dir", str(tmp_path), "--kafka", topic.servers)
    environment = {"METATIDE_KAFKA_TOPIC": topic.name}
    result = CliRunner().invoke(root, ["rebuild", "--engine", "spark", *options], env=environment)
    assert "--images URL" in str(result.exception)


def test_what_an_order_skips_is_skipped_in_an_image_too(
    spark: SparkSession,
    kafka_broker: str,
    records: dict[int, list[AnyRecord]],
    tmp_path: Path,
) -> None:
    """The image ends before the order, which may come long after the record."""
    topic = new_topic(kafka_broker, SHARDS)
    writer = TopicWriter(topic)
    before, after = records[0][:20], records[0][20:40]
    writer.write(0, [*map(encode, before), b"garbage", *map(encode, after)])
    writer.flush()
    place, ends = Place(str(tmp_path / "images"), MEMORY), [(0, 41)]
    with pytest.raises(Exception, match=r"shard 0 stops at offset 20 \(newer_format\)"):
        build_images(spark.sparkContext, topic, ends, place)
    writer.write(0, [*map(encode, records[0][40:]), encode(Skip(0, 20, 20))])
    writer.flush()
    [made] = build_images(spark.sparkContext, topic, ends, place)
    path = tmp_path / "replayed"
    with (
        Store(
            path, shard_identity(topic, 0), families=SHARD_FAMILIES, budget=MemoryBudget(MEMORY)
        ) as store,
        TopicReader(topic) as reader,
    ):
        replay(store, reader, end=41)
        assert digest.exact(store.snapshot()) == made.exact
