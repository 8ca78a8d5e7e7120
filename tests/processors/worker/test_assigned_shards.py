"""A shard that comes and goes while it is slow to close: one task at a time has its store."""

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from threading import Event
from types import SimpleNamespace
from typing import Any, cast

import pytest

from hive.errors import StoppedError, StorageError
from processors.directory import WorkerDirectory
from processors.worker.load_requests import LoadRequests
from processors.worker.metrics import Metrics
from processors.worker.parts import WorkerParts
from processors.worker.shard_images import ShardImages
from processors.worker.worker import Worker, WorkerSettings
from state.image import Images
from state.store import MemoryBudget, Store, StorePosition
from state.store.families import SHARD_FAMILIES, shard_identity
from state.topic import Topic, TopicClient
from state.topic.client import Bounds
from tests.processors.worker.in_process import until

NUMBER = 3
BUDGET = MemoryBudget(64 << 20)
TOPIC = Topic("127.0.0.1:1", "topic", 1, {}, "id")


class SlowShard:
    """A shard that closes when it is told to."""

    all: list["SlowShard"]

    def __init__(self, *_: object) -> None:
        self.runs = False
        self.may_close = asyncio.Event()
        self.all.append(self)

    def unfollow(self) -> None:
        pass

    async def run(self) -> None:
        self.runs = True
        try:
            await asyncio.Event().wait()
        finally:
            await self.may_close.wait()
            self.runs = False


@pytest.fixture
async def worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Worker]:
    monkeypatch.setattr(SlowShard, "all", [], raising=False)
    monkeypatch.setattr("processors.worker.worker.Shard", SlowShard)
    worker = Worker(WorkerSettings(servers=TOPIC.servers, topic="topic", path=tmp_path, group="g"))
    worker._parts = cast("WorkerParts", SimpleNamespace(metrics=Metrics()))
    worker._load_requests = cast("LoadRequests", SimpleNamespace(forget=lambda _: None))
    yield worker
    # After a failure nobody else lets them close, and the event loop waits for them.
    for shard in SlowShard.all:
        shard.may_close.set()


def running() -> list[int]:
    return [at for at, shard in enumerate(SlowShard.all) if shard.runs]


async def turns() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


@pytest.mark.parametrize("between", [turns, None])
async def test_a_shard_that_comes_back_waits_for_all_before_it(
    worker: Worker, between: Any
) -> None:
    worker._assign(frozenset([NUMBER]))
    await turns()
    for _ in range(2):
        for assigned in ([], [NUMBER]):
            worker._assign(frozenset(assigned))
            if between is not None:
                await between()
    await turns()
    assert running() == [0]
    SlowShard.all[0].may_close.set()
    await until(lambda: running() == [2])
    SlowShard.all[2].may_close.set()
    await end(worker)


async def test_a_worker_that_ends_waits_for_a_shard_that_it_lost(worker: Worker) -> None:
    worker._assign(frozenset([NUMBER]))
    await turns()
    for assigned in ([], [NUMBER], []):
        worker._assign(frozenset(assigned))
        await turns()
    ending = asyncio.create_task(end(worker))
    await turns()
    assert running() == [0]
    assert not ending.done()
    SlowShard.all[0].may_close.set()
    await ending
    assert running() == []


async def end(worker: Worker) -> None:
    holding = asyncio.create_task(worker._hold_shards())
    await asyncio.sleep(0)
    holding.cancel()
    await asyncio.wait([holding])


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


def figures(worker: Worker) -> list[object]:
    names = ("metatide_lag_records", "metatide_image_made_seconds")
    label = {"shard": str(NUMBER)}
    return [worker.metrics.registry.get_sample_value(name, label) for name in names]


def take(worker: Worker, before_image: Callable[[], None] = lambda: None) -> Any:
    """Gives the worker a shard."""
    worker._assign(frozenset([NUMBER]))

    async def prune(*_: object) -> None:
        raise StorageError("nothing answers")

    bulk = SimpleNamespace(restore=prune)
    worker._parts = cast("WorkerParts", SimpleNamespace(topic=TOPIC, bulk=bulk))

    async def make_image() -> object:
        before_image()
        return SimpleNamespace(made_s=7.0, position=StorePosition(), name="image")

    shard: Any = worker.shards[NUMBER]
    shard.position, shard.awaits, shard.make_image = StorePosition(), None, make_image
    return shard


async def test_a_shard_that_moves_away_takes_its_figures_along(worker: Worker) -> None:
    shard = take(worker)
    worker.metrics.lag_records.labels(NUMBER).set(9)
    assert await worker._make_image(NUMBER, shard), "whether old ones were pruned or not"
    assert figures(worker) == [9, 7]
    worker._assign(frozenset())
    assert figures(worker) == [None, None]
    await worker._make_image(NUMBER, take(worker, lambda: worker._assign(frozenset())))
    assert figures(worker) == [None, None], "it moved while its image was made"


async def test_a_shard_that_moves_away_while_the_topic_is_looked_at_has_no_figures(
    worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[int] = []
    loop = asyncio.get_running_loop()

    def ends(shards: dict[int, object]) -> dict[int, int]:
        looks.append(len(shards))
        loop.call_soon_threadsafe(worker._assign, frozenset())
        return dict.fromkeys(shards, 9)

    monkeypatch.setattr("processors.worker.worker.WATCH_S", 0.01)
    worker._client = cast("TopicClient", SimpleNamespace(ends=ends))
    take(worker)
    watching = asyncio.create_task(worker._watch_arrival())
    await until(lambda: len(looks) > 2)
    assert looks[:2] == [1, 0]
    assert figures(worker) == [None, None]
    watching.cancel()
