"""What the making of an image leaves in the figures of a worker."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from structlog.testing import capture_logs

from hive.errors import StorageError
from processors.worker.image_maker import ImageMaker
from processors.worker.metrics import Metrics
from state.store import StorePosition
from state.topic import Topic

NUMBER = 3
TOPIC = Topic("127.0.0.1:1", "topic", 1, {}, "id")


class Maker:
    """Makes images of shards, at a place where nothing is pruned."""

    def __init__(self) -> None:
        self.metrics = Metrics()
        self.shards: dict[int, Any] = {}
        bulk: Any = SimpleNamespace(restore=self._prune)
        images: Any = None
        self.own = ImageMaker(TOPIC, images, bulk, self.shards, self.metrics, keep=3)

    async def _prune(self, *_: object) -> None:
        raise StorageError("nothing answers")

    def take(self, before_image: Callable[[], None] = lambda: None, *, live: bool = True) -> Any:
        """A shard that is the worker's from now on."""

        async def make_image() -> object:
            before_image()
            return SimpleNamespace(made_s=7.0, position=StorePosition(), name="image")

        shard = self.shards[NUMBER] = SimpleNamespace(make_image=make_image, live=live)
        return shard

    def lose(self) -> None:
        del self.shards[NUMBER]
        self.metrics.forget(NUMBER)

    @property
    def made_s(self) -> float | None:
        label = {"shard": str(NUMBER)}
        return self.metrics.registry.get_sample_value("metatide_image_made_seconds", label)


async def test_an_image_is_made_whether_old_ones_are_pruned_or_not() -> None:
    maker = Maker()
    with capture_logs() as logs:
        assert await maker.own.make(NUMBER, maker.take())
    assert maker.made_s == 7
    assert [line["event"] for line in logs] == ["an image was made", "old images weren't pruned"]
    maker.lose()
    assert maker.made_s is None


async def test_a_shard_that_moves_away_while_its_image_is_made_has_no_figure() -> None:
    maker = Maker()
    await maker.own.make(NUMBER, maker.take(maker.lose))
    assert maker.made_s is None


async def test_only_live_shards_are_imaged_and_one_that_fails_is_tried_again() -> None:
    class EnoughError(Exception):
        """The test has seen what it wanted."""

    maker, tries = Maker(), 0

    def fail() -> None:
        nonlocal tries
        tries += 1
        if tries == 2:
            raise EnoughError
        raise StorageError("nothing answers")

    maker.take(lambda: pytest.fail("it isn't live"), live=False)
    maker.shards[NUMBER + 1] = maker.shards.pop(NUMBER)
    maker.take(fail)
    with capture_logs() as logs, pytest.raises(EnoughError):
        await maker.own.run(0.001)
    assert [line["event"] for line in logs] == ["an image wasn't made"]
