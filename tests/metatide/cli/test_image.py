"""What `metatide image` refuses; with workers, see `tests.processors.worker.test_images`."""

import shutil
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import orjson
import pytest
from click.testing import CliRunner, Result

from hive.errors import InputError, MachineError
from metatide.cli import image, root
from metatide.spark import session as spark_session
from metatide.stack.machine import free_port
from processors.directory import WorkerDirectory
from processors.spark import follow as spark_follow
from processors.spark.build import Built
from state.store import MemoryBudget, Store
from state.store.families import SHARD_FAMILIES, shard_identity
from state.topic import Topic
from tests.support.kafka.topics import new_topic

SHARDS = 2


@pytest.fixture
def topic(kafka_broker: str) -> Topic:
    return new_topic(kafka_broker, SHARDS)


@pytest.fixture
def directory(topic: Topic, tmp_path: Path) -> WorkerDirectory:
    """That of a worker with a store of each shard."""
    directory = WorkerDirectory(tmp_path / "data" / "workers" / "one")
    for shard in range(SHARDS):
        path, identity = directory.store(shard), shard_identity(topic, shard)
        path.parent.mkdir(parents=True, exist_ok=True)
        Store(path, identity, families=SHARD_FAMILIES, budget=MemoryBudget(64 << 20)).close()
    return directory


@pytest.fixture
def run(topic: Topic, tmp_path: Path) -> Callable[[str], Result]:
    def run(what: str, *options: str) -> Result:
        place = ["--data-dir", str(tmp_path / "data"), "--worker-name", "one"]
        command = ["image", what, "--kafka", topic.servers, *place, *options]
        return CliRunner(env={"METATIDE_KAFKA_TOPIC": topic.name}).invoke(root, command)

    return lambda what: run(what, "--images", str(tmp_path / "images"))


@pytest.mark.usefixtures("directory")
def test_a_place_that_cannot_be_written_is_said(
    run: Callable[[str], Result], tmp_path: Path
) -> None:
    (tmp_path / "images").touch()
    done = run("create")
    assert isinstance(done.exception, MachineError)
    assert str(done.exception).startswith("the image wasn't made: ")


@pytest.mark.parametrize("what", ["list", "prune"])
def test_a_place_that_is_not_there_is_said(
    run: Callable[[str], Result], tmp_path: Path, what: str
) -> None:
    done = run(what)
    assert isinstance(done.exception, InputError)
    assert str(done.exception).startswith(f"there is nothing at {tmp_path / 'images'}: ")
    (tmp_path / "images").mkdir()
    assert run(what).exit_code == 0


def test_images_without_a_place_are_refused() -> None:
    done = CliRunner().invoke(root, ["image", "list", "--kafka", "127.0.0.1:1"])
    assert isinstance(done.exception, InputError)
    assert str(done.exception) == "give the place of the images (--images URL)"


@pytest.mark.parametrize(
    ("command", "calls"), [(["once"], ["once"]), (["follow", "--every", "0.5"], ["follow 0.5"])]
)
def test_images_are_made_on_spark_once_or_again_and_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: list[str], calls: list[str]
) -> None:
    made: list[str] = []

    class Follower:
        def __init__(self, *arguments: Any) -> None:
            self._heard = arguments[-1]

        def once(self, _: object) -> None:
            made.append("once")
            self._heard(Built(0, "image-1", 0, 7, 9, 100, ""))

        def follow(self, bounds: object, every_s: float) -> None:
            self.once(bounds)
            made[-1] = f"follow {every_s}"

    monkeypatch.setattr(spark_follow, "Follower", Follower)
    monkeypatch.setattr(spark_session, "session", lambda *_, **__: nullcontext())
    monkeypatch.setattr(image, "await_ticket", lambda _: None)
    monkeypatch.setattr(image, "find_topic", lambda _: Topic("127.0.0.1:1", "events", 1))
    monkeypatch.setattr(image, "topic_bounds", lambda _: {})
    place = ["--kafka", "127.0.0.1:1", "--images", str(tmp_path)]
    done = CliRunner(catch_exceptions=False).invoke(root, ["image", *command, *place])
    assert made == calls
    assert orjson.loads(done.stdout)["shard"] == 0


def test_a_running_worker_that_cannot_be_asked_is_said(
    run: Callable[[str], Result],
    topic: Topic,
    directory: WorkerDirectory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with directory.owned():
        absent = run("create").exception
        assert isinstance(absent, MachineError)
        assert "stop it, or give" in str(absent)
        assert str(absent).endswith(f"because it isn't in the group {topic.name} yet")
        nowhere = f"127.0.0.1:{free_port()}"
        monkeypatch.setattr(image, "members", lambda *_: [("one", nowhere)])
        silent = run("create").exception
    assert isinstance(silent, MachineError)
    assert str(silent).startswith(f"http://{nowhere}/v1/images doesn't answer: ")


def test_a_shard_whose_images_are_all_damaged_is_said_and_keeps_its_store(
    run: Callable[[str], Result], directory: WorkerDirectory, tmp_path: Path
) -> None:
    assert run("create").exit_code == 0
    [data] = (tmp_path / "images").glob("*/0/files")
    shutil.rmtree(data)
    done = run("restore")
    assert [orjson.loads(line)["shard"] for line in done.stdout.splitlines()] == [1]
    assert isinstance(done.exception, MachineError)
    assert str(done.exception).startswith("no image of shard 0 can be used")
    assert directory.store(0).exists()
