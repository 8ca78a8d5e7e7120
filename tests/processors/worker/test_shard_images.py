"""The images of a shard: those that can't be used, and places that can't be read."""

from pathlib import Path
from threading import Event
from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import Mock

import pytest
from structlog.testing import capture_logs

from hive.errors import StoppedError
from processors.directory import WorkerDirectory
from processors.worker.parts import WorkerParts
from processors.worker.shard_images import ShardImages
from state.image import Images
from state.store import MemoryBudget, Store, StorePosition
from state.store.families import SHARD_FAMILIES, shard_identity
from state.topic import Topic
from state.topic.client import Bounds

BUDGET = MemoryBudget(64 << 20)
TOPIC = Topic("127.0.0.1:1", "topic", 1, {}, "id")


def shard_images(folder: Path, images: object, first: int = 0) -> ShardImages:
    parts = SimpleNamespace(
        topic=Topic("nowhere", "t", 1, id="id"),
        directory=WorkerDirectory(folder),
        bulk=Mock(),
        images=images,
    )
    parts.bulk.reader().bounds.return_value = Bounds(first, 100)
    return ShardImages(cast("WorkerParts", parts), 0, Event())


def test_only_the_begin_of_the_topic_can_take_the_place_of_images(tmp_path: Path) -> None:
    images = Mock()
    images.restore_newest.side_effect = OSError("the place is away")
    with capture_logs() as logs:
        assert shard_images(tmp_path, images).restore() is None
    assert [line["event"] for line in logs] == ["images can't be read now"]
    with pytest.raises(OSError, match="the place is away"):
        shard_images(tmp_path, images, first=1).restore()


def test_an_image_of_which_no_store_can_be_made_is_tried_once(tmp_path: Path) -> None:
    images, newer = Mock(), SimpleNamespace(name="newer", position=StorePosition(0, 0, 9))
    older = SimpleNamespace(name="older", position=StorePosition(0, 0, 3))
    images.of.return_value = [newer, older]
    images.restore_newest.return_value = older
    shard = shard_images(tmp_path, images)
    assert [shard.has_newer(3, 100), shard.has_newer(3, 100)] == [False, False]
    assert images.restore_newest.call_count == 1
    images.of.return_value = [SimpleNamespace(name="next", position=StorePosition(0, 0, 20)), newer]
    images.restore_newest.return_value = images.of.return_value[0]
    assert shard.has_newer(3, 100)
    assert not shard_images(tmp_path, None).has_newer(3, 100)


def test_an_image_that_comes_too_late_leaves_the_store_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    images, identity = Images(str(tmp_path / "images"), BUDGET), shard_identity(TOPIC, 0)
    with Store(tmp_path / "made", identity, families=SHARD_FAMILIES, budget=BUDGET) as store:
        changes = store.transaction()
        changes.put(b"key", b"value")
        store.commit(changes, StorePosition(0, 1, 1))
        images.create(store, tmp_path / "scratch")
    directory = WorkerDirectory(tmp_path / "worker")
    reader = SimpleNamespace(bounds=lambda _: Bounds(0, 9))
    bulk = SimpleNamespace(reader=lambda: reader)
    parts: Any = SimpleNamespace(directory=directory, topic=TOPIC, bulk=bulk, images=images)
    stop = Event()
    stop.set()
    stopped = ShardImages(parts, 0, stop)
    monkeypatch.setattr(stopped, "_fits_topic", lambda _: True)
    with directory.owned():
        with pytest.raises(StoppedError):
            stopped.restore()
        assert not directory.store(0).parent.joinpath("0.new").exists()
        assert not directory.store(0).exists()
