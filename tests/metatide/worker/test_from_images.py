"""Shards that are images, and `metatide serve --from-images`."""

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from threading import Event

import httpx
import pytest
import sqlalchemy as sa

from hive.errors import StoppedError
from metatide.demo.store import Store as Database
from metatide.stack.machine import LOOPBACK, free_port
from metatide.worker.from_images import ImagedShards
from processors.replay.replay import replay
from state.image import Images, Manifest
from state.records import AnyRecord, Change
from state.records.actions import PutDatabase
from state.shard_reader import ShardReader
from state.store import MemoryBudget, Store
from state.store.families import SHARD_FAMILIES, shard_identity
from state.topic import TopicReader
from tests.support import silent_storage
from tests.support.histories import OTHERS, RECORDS, image
from tests.support.kafka.topics import delete_topic, log_records, new_topic, write
from tests.support.processes import spawn

BUDGET = MemoryBudget(32 << 20)
PATIENCE_S = 60


class Imaging:
    """A topic with one shard, and images of it."""

    def __init__(self, broker: str, folder: Path) -> None:
        self.topic = new_topic(broker, 1)
        self.url = str(folder / "images")
        self.images = Images(self.url, BUDGET)
        self.records = log_records("four-writers", 1)[0]
        self._folder = folder
        self._written = 0

    def image(self, records: int) -> None:
        """Writes records up to this one, and makes the image that holds them."""
        write(self.topic, {0: self.records}, self._written, records)
        self._written = records
        path = self._folder / "store"
        store = Store(path, shard_identity(self.topic, 0), families=SHARD_FAMILIES, budget=BUDGET)
        with store, TopicReader(self.topic) as reader:
            replay(store, reader)
            self.images.create(store, self._folder / "scratch")


async def test_a_read_of_an_image_finishes_when_a_newer_one_comes(
    kafka_broker: str, tmp_path: Path
) -> None:
    imaging = Imaging(kafka_broker, tmp_path)
    imaged = ImagedShards(imaging.topic, imaging.images, tmp_path / "served", BUDGET)
    await imaged.refresh()
    assert imaged.missing == [0]
    began_s = image_made_s(imaged)
    imaging.image(100)
    await imaged.refresh()
    [manifest] = imaging.images.of(shard_identity(imaging.topic, 0))
    assert began_s < image_made_s(imaged) == manifest.made_s
    shard = imaged.shards[0]
    before = imaged.snapshot(0)
    assert before is not None
    tables = ShardReader(before).table_names()
    first = next(iter(tables))
    waiting = asyncio.create_task(shard.complete_up_to(0, shard.position.applied + 1, 60))
    imaging.image(len(imaging.records))
    await imaged.refresh()
    assert await waiting
    assert shard.position.offset == len(imaging.records)
    assert [first, *tables] == list(ShardReader(before).table_names())
    assert len(list((tmp_path / "served" / "0").iterdir())) == 2
    del before, tables
    await imaged.refresh()
    assert len(list((tmp_path / "served" / "0").iterdir())) == 1
    assert not await shard.complete_up_to(0, shard.position.applied + 1, 0.01)
    imaged.close()
    assert not list((tmp_path / "served" / "0").iterdir())


def image_made_s(imaged: ImagedShards) -> float:
    name, shard = "metatide_image_made_seconds", {"shard": "0"}
    return imaged.registry.get_sample_value(name, shard) or 0.0


async def test_an_image_that_is_no_good_leaves_the_one_before(
    kafka_broker: str, tmp_path: Path
) -> None:
    imaging = Imaging(kafka_broker, tmp_path)
    imaged = ImagedShards(imaging.topic, imaging.images, tmp_path / "served", BUDGET)
    imaging.image(100)
    await imaged.refresh()
    names = {one.name for one in Path(imaging.url).rglob("files/*")}
    imaging.image(200)
    for path in Path(imaging.url).rglob("files/*"):
        if path.name not in names:
            path.write_bytes(b"junk")
    await imaged.refresh()
    assert imaged.shards[0].position.offset == 100
    imaged.close()


async def test_an_image_of_records_that_the_topic_has_lost_is_left_out(
    kafka_broker: str, tmp_path: Path
) -> None:
    topic, images = new_topic(kafka_broker, 1), Images(str(tmp_path / "images"), BUDGET)
    write(topic, {0: OTHERS})
    imaged = ImagedShards(topic, images, tmp_path / "served", BUDGET)
    image(topic, images, tmp_path, OTHERS[:15])
    image(topic, images, tmp_path, RECORDS)
    await imaged.refresh()
    assert imaged.shards[0].position.offset == 15
    imaged.close()


async def test_storage_that_does_not_answer_leaves_the_image_before(
    kafka_broker: str, tmp_path: Path
) -> None:
    imaging = Imaging(kafka_broker, tmp_path)
    imaged = ImagedShards(imaging.topic, imaging.images, tmp_path / "served", BUDGET)
    imaging.image(100)
    await imaged.refresh()
    imaged._images = Images(silent_storage.URL, BUDGET)
    await imaged.refresh()
    assert imaged.shards[0].position.offset == 100
    imaged.close()


async def test_an_image_that_is_being_fetched_is_given_up_at_the_end(
    kafka_broker: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    imaging, fetching, fetched = Imaging(kafka_broker, tmp_path), Event(), list[Path]()
    imaging.image(100)
    imaging.image(200)

    def restore(_: Images, __: Manifest, path: Path, *, stop: Event | None = None) -> None:
        fetched.append(path)
        fetching.set()
        assert stop is not None
        assert stop.wait(PATIENCE_S)
        raise StoppedError("the image isn't fetched any further")

    monkeypatch.setattr(Images, "restore", restore)
    imaged = ImagedShards(imaging.topic, imaging.images, tmp_path / "served", BUDGET)
    refreshing = asyncio.create_task(imaged.refresh())
    assert await asyncio.to_thread(fetching.wait, PATIENCE_S)
    imaged.close()
    await refreshing
    assert (len(fetched), imaged.shards) == (1, {})


def test_no_request_is_dropped_while_it_moves_on(
    kafka_broker: str, new_database: Callable[[], str], tmp_path: Path
) -> None:
    imaging = Imaging(kafka_broker, tmp_path)
    imaging.image(100)
    process, client = serve(imaging, new_database, tmp_path)
    try:
        with client:
            until(lambda: answers(client, process))
            page = client.get("/metrics").text
            assert "metatide_image_every_seconds 3600.0" in page
            assert 'metatide_image_made_seconds{shard="0"}' in page
            path = f"/v1/databases/{a_database(imaging.records[:100])}"
            for upto in range(200, 1000, 200):
                imaging.image(upto)
                event = max(one.upto for one in imaging.records[:upto] if isinstance(one, Change))
                until(partial(is_as_far, client, path, event))
    finally:
        process.terminate()
        assert process.wait(PATIENCE_S) == 0


def test_it_ends_once_the_topic_is_another_one(
    kafka_broker: str, new_database: Callable[[], str], tmp_path: Path
) -> None:
    imaging = Imaging(kafka_broker, tmp_path)
    imaging.image(100)
    process, client = serve(imaging, new_database, tmp_path)
    try:
        with client:
            until(lambda: answers(client, process))
        delete_topic(kafka_broker, imaging.topic.name)
        new_topic(kafka_broker, 1, imaging.topic.name)
        assert process.wait(PATIENCE_S) == 1
    finally:
        process.kill()
        process.wait(PATIENCE_S)
    assert "created anew" in (tmp_path / "serve.out").read_text()


def serve(
    imaging: Imaging, new_database: Callable[[], str], folder: Path
) -> "tuple[subprocess.Popen[bytes], httpx.Client]":
    """The server's process and a client of it."""
    database = Database(new_database())
    url = sa.make_url(database.engine.url).set(drivername="postgresql")
    database.engine.dispose()
    port = free_port()
    command = [sys.executable, "-m", "metatide", "serve", "--from-images", "--every", "0.1"]
    environment = {
        **os.environ,
        "METATIDE_DATA_DIR": str(folder / "data"),
        "METATIDE_KAFKA_BOOTSTRAP_SERVERS": imaging.topic.servers,
        "METATIDE_KAFKA_TOPIC": imaging.topic.name,
        "METATIDE_IMAGES_URL": imaging.url,
        "METATIDE_DATABASE_URL": url.render_as_string(hide_password=False),
        "METATIDE_HTTP_PORT": str(port),
    }
    process = spawn(command, folder / "serve.out", environment)
    return process, httpx.Client(base_url=f"http://{LOOPBACK}:{port}", timeout=30)


def is_as_far(client: httpx.Client, path: str, event: int) -> bool:
    return ask(client, path) >= event


def a_database(records: list[AnyRecord]) -> str:
    """One that is created by then."""
    changes = [one for one in records if isinstance(one, Change)]
    actions = [action for one in changes for action in one.actions]
    return next(one.database.name.db for one in actions if isinstance(one, PutDatabase))


def ask(client: httpx.Client, path: str) -> int:
    """The event as of which the cache answers."""
    answer = client.get(path, params={"consistency": "any"})
    assert answer.status_code == 200, answer.text
    assert answer.headers["Metatide-Source"] == "cache"
    return int(answer.headers["Metatide-Position"].rpartition(":")[2])


def answers(client: httpx.Client, process: "subprocess.Popen[bytes]") -> bool:
    assert process.poll() is None
    try:
        return client.get("/readyz").status_code == 200
    except httpx.TransportError:
        return False


def until(what: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not what():
        assert time.monotonic() < deadline
        time.sleep(0.05)
