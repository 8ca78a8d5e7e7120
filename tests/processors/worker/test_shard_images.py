"""The images of a shard: those that can't be used, and places that can't be read."""

from pathlib import Path
from threading import Event
from types import SimpleNamespace
from typing import cast
from unittest.mock import Mock

import pytest
from structlog.testing import capture_logs

from processors.directory import WorkerDirectory
from processors.worker.parts import WorkerParts
from processors.worker.shard_images import ShardImages
from state.store import StorePosition
from state.topic import Topic
from state.topic.client import Bounds


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
