"""Workers that make images and begin from them; `metatide image` and `metatide status`."""

import json
import re
import shutil
import time
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from hive.errors import InputError
from metatide.cli import root
from metatide.cli.digest import _digests
from metatide.cli.status import EXIT_STATUS
from processors.replay.replay import rebuild
from state.records import AnyRecord, LoadEnd
from state.records.actions import AbortTxn, CommitTxn, DropTable, RenameTable
from state.store import MemoryBudget
from state.topic import Topic
from tests.support.kafka.topics import delete_before, log_records, new_topic, write
from tests.support.tables import Metastore
from tests.support.workers import WorkerProcess, workers

pytestmark = pytest.mark.slow

SHARDS = 3
BUDGET = MemoryBudget(64 << 20)


@pytest.fixture(scope="module")
def records() -> dict[int, list[AnyRecord]]:
    return log_records("four-writers", SHARDS)


@pytest.fixture
def topic(kafka_broker: str) -> Topic:
    return new_topic(kafka_broker, SHARDS)


def options(topic: Topic, folder: Path) -> list[str]:
    place = ["--data-dir", str(folder), "--worker-name", "one"]
    return ["--kafka", topic.servers, *place, "--images", str(folder / "images")]


def run(topic: Topic, folder: Path, *arguments: str) -> list[Any]:
    environment = {"METATIDE_KAFKA_TOPIC": topic.name}
    result = CliRunner().invoke(root, [*arguments, *options(topic, folder)], env=environment)
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


def eventful(events: int) -> dict[int, list[AnyRecord]]:
    """Loads, renames, drops, committed and aborted transactions, and writes among them."""
    metastore = Metastore(40, SHARDS, seed=7)
    by_shard: dict[int, list[AnyRecord]] = {shard: [] for shard in range(SHARDS)}
    for shard, record in (*metastore.records(events), *metastore.progress()):
        by_shard[shard].append(record)
    actions = [action for change in by_shard[0] for action in getattr(change, "actions", ())]
    assert {AbortTxn, CommitTxn, DropTable, RenameTable} <= {*map(type, actions)}
    assert any(isinstance(record, LoadEnd) for record in by_shard[0])
    return by_shard


def test_live_replayed_and_restored_are_the_same(topic: Topic, tmp_path: Path) -> None:
    """The tail begins behind what the topic still has: only the image can tell the rest."""
    images = {"METATIDE_IMAGES_URL": str(tmp_path / "images")}
    first, second = (WorkerProcess(topic, tmp_path, name, **images) for name in ("one", "two"))
    records = eventful(1500)
    ends = {shard: len(found) for shard, found in records.items()}
    assert min(ends.values()) > 300
    with workers(first):
        first.until_ready(SHARDS)
        write(topic, records, 0, 300)
        first.until_at(dict.fromkeys(range(SHARDS), 300))
        assert first.end() == 0
        made = run(topic, tmp_path, "image", "create")
        assert [line["offset"] for line in made] == [300] * SHARDS
        first.start()
        first.until_ready(SHARDS)
        write(topic, records, 300, None)
        first.until_at(ends)
        metrics = first.get("/metrics")
        assert metrics is not None
        live = sum(ends.values()) - SHARDS * 300
        assert f"metatide_batch_records_sum {live:.1f}" in metrics.text, "all came through Faust"
        assert first.end() == 0
    for shard in range(SHARDS):
        delete_before(topic, shard, 250)
    with workers(second):
        restored = second.until_at(ends)
        assert all(shard["image_age_s"] > restored["up_s"] for shard in restored["shards"])
        metrics = second.get("/metrics")
        assert metrics is not None
        [made] = re.findall(r'^metatide_image_made_seconds\{shard="0"\} (\S+)', metrics.text, re.M)
        assert float(made) < time.time() - restored["up_s"]
        assert second.end() == 0
    whole = new_topic(topic.servers, SHARDS)
    write(whole, records, 0, None)
    for shard in range(SHARDS):
        rebuild(whole, shard, tmp_path / f"replayed-{shard}", BUDGET)
        replayed = digests(tmp_path / f"replayed-{shard}")
        assert digests(first.directory.store(shard)) == replayed
        assert digests(second.directory.store(shard)) == replayed


def digests(store: Path) -> tuple[Any, Any]:
    """Of the records folded, and of what readers see; in whichever topic they are."""
    found = _digests(store)
    return found["exact"], found["content"]


def test_a_running_worker_makes_images_when_it_is_asked(
    topic: Topic, records: dict[int, list[AnyRecord]], tmp_path: Path
) -> None:
    images = {"METATIDE_IMAGES_URL": str(tmp_path / "images")}
    first, second = (WorkerProcess(topic, tmp_path, name, **images) for name in ("one", "two"))
    write(topic, records, 0, 300)
    with workers(first):
        before = first.until_at(dict.fromkeys(range(SHARDS), 300))
        made = run(topic, tmp_path, "image", "create")
        assert [(line["shard"], line["offset"]) for line in made] == [(0, 300), (1, 300), (2, 300)]
        after = first.until_at(dict.fromkeys(range(SHARDS), 300))
        for place in ("epoch", "event_id", "offset"):
            assert [x[place] for x in after["shards"]] == [x[place] for x in before["shards"]]
        write(topic, records, 300, 350)
        first.until_at(dict.fromkeys(range(SHARDS), 350))
        [again] = run(topic, tmp_path, "image", "create", "--shard", "1")
        assert (again["shard"], again["offset"]) == (1, 350)
        assert first.end() == 0
    for line in (made[0], again, made[2]):
        store_digests = _digests(first.directory.store(line["shard"]))
        assert (store_digests["exact"] == line["exact"]) == (line["offset"] == 350)
    for shard in range(SHARDS):
        delete_before(topic, shard, 250)
    with workers(second):
        second.until_at(dict.fromkeys(range(SHARDS), 350))
        assert second.end() == 0
    for shard in range(SHARDS):
        assert digests(second.directory.store(shard)) == digests(first.directory.store(shard))


def test_a_store_that_lacks_deleted_records_gives_way_to_an_image(
    topic: Topic, tmp_path: Path
) -> None:
    """Of a worker that was away while others went on and the topic was trimmed."""
    images = {"METATIDE_IMAGES_URL": str(tmp_path / "images")}
    imager, away = (WorkerProcess(topic, tmp_path, name, **images) for name in ("one", "two"))
    records = eventful(1500)
    with workers(away):
        write(topic, records, 0, 200)
        away.until_at(dict.fromkeys(range(SHARDS), 200))
        assert away.end() == 0
    with workers(imager):
        write(topic, records, 200, 350)
        imager.until_at(dict.fromkeys(range(SHARDS), 350))
        assert len(run(topic, tmp_path, "image", "create")) == SHARDS
        assert imager.end() == 0
    for shard in range(SHARDS):
        delete_before(topic, shard, 300)
    with workers(away):
        away.until_at(dict.fromkeys(range(SHARDS), 350))
        assert away.end() == 0
    for shard in range(SHARDS):
        assert digests(away.directory.store(shard)) == digests(imager.directory.store(shard))


def test_a_reader_who_may_not_order_gets_no_image(
    topic: Topic, tmp_path: Path, workers_secret: Path
) -> None:
    tokens = tmp_path / "tokens"
    tokens.write_text(f"read {sha256(b'reader').hexdigest()}\n")
    worker = WorkerProcess(
        topic,
        tmp_path,
        "one",
        METATIDE_IMAGES_URL=str(tmp_path / "images"),
        METATIDE_READS_TOKENS_PATH=str(tokens),
        METATIDE_WORKER_SECRET_FILE=str(workers_secret),
    )
    with workers(worker):
        worker.until_ready(SHARDS)
        name = {"METATIDE_KAFKA_TOPIC": topic.name, "METATIDE_CLIENT_TOKEN": "reader"}
        with_secret = name | {"METATIDE_WORKER_SECRET_FILE": str(workers_secret)}
        for env, fault in ((with_secret, "role admin"), (name, "isn't sent client.token")):
            command = ["image", "create", *options(topic, tmp_path)]
            result = CliRunner().invoke(root, command, env=env)
            assert fault in str(result.exception)
    assert not (tmp_path / "images").exists()


def test_a_worker_makes_images_by_itself(
    topic: Topic, records: dict[int, list[AnyRecord]], tmp_path: Path
) -> None:
    images = {
        "METATIDE_IMAGES_URL": str(tmp_path / "images"),
        "METATIDE_IMAGES_EVERY_S": "1",
        "METATIDE_IMAGES_KEEP": "1",
    }
    worker = WorkerProcess(topic, tmp_path, "one", **images)
    write(topic, records, 0, None)
    ends = {shard: len(found) for shard, found in records.items()}
    with workers(worker):
        worker.until_at(ends)
        worker.until(lambda status: all(one["image_age_s"] is not None for one in status["shards"]))
        metrics = worker.get("/metrics")
        assert metrics is not None
        assert "metatide_image_made_seconds" in metrics.text
        assert worker.end() == 0
    listed = run(topic, tmp_path, "image", "list")
    assert {line["shard"]: line["offset"] for line in listed} == ends
    before = [_digests(worker.directory.store(shard)) for shard in range(SHARDS)]
    shutil.rmtree(worker.directory.path / "shards")
    assert len(run(topic, tmp_path, "image", "restore")) == SHARDS
    assert [_digests(worker.directory.store(shard)) for shard in range(SHARDS)] == before
    assert [line["files_deleted"] for line in run(topic, tmp_path, "image", "prune")] == [0] * 3


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        (("create",), "worker one has no store in "),
        (("create", "--shard", "2"), "worker one has no store of shard 2 in "),
        (("create", "--shard", "-1"), "worker one has no store of shard -1 in "),
        (("restore",), "there is no image of topic "),
        (("restore", "--shard", "1"), "'s shard 1: make one (metatide image create)"),
        (("restore", "--shard", "3"), "there is no shard 3: "),
    ],
)
def test_a_store_or_an_image_that_does_not_exist_is_named_and_not_made(
    topic: Topic, tmp_path: Path, arguments: tuple[str, ...], fault: str
) -> None:
    environment = {"METATIDE_KAFKA_TOPIC": topic.name}
    command = ["image", *arguments, *options(topic, tmp_path)]
    result = CliRunner().invoke(root, command, env=environment)
    assert isinstance(result.exception, InputError), result.output
    assert fault in str(result.exception)
    assert not (tmp_path / "workers").exists()
    assert not list((tmp_path / "images").rglob("*"))


def test_status_tells_of_all_members(
    topic: Topic, records: dict[int, list[AnyRecord]], tmp_path: Path
) -> None:
    first, second = (WorkerProcess(topic, tmp_path, name) for name in ("one", "two"))
    write(topic, records, 0, None)
    with workers(first, second):
        first.until(lambda status: status["ready"] and len(status["shards"]) < SHARDS)
        second.until(lambda status: status["ready"] and len(status["shards"]) > 0)
        arguments = ["status", "--kafka", topic.servers, "--group", topic.name, "--content"]
        result = CliRunner().invoke(root, arguments)
        # Sooner or later it is said that there is no connector.
        assert result.exit_code in EXIT_STATUS.values(), result.output
        lines = json.loads(result.stdout)
    assert [worker["name"] for worker in lines["workers"]] == ["one", "two"]
    shards = [shard for worker in lines["workers"] for shard in worker["shards"]]
    assert sorted(shard["shard"] for shard in shards) == list(range(SHARDS))
    for shard in shards:
        assert shard["phase"] == "live"
        assert shard["offset"] == len(records[shard["shard"]])
        assert shard["lag_records"] == 0
    assert sum(one["content"]["objects"]["partitions"]["count"] for one in shards) > 0
    assert any(one["content"]["tables_cold"] for one in shards)
