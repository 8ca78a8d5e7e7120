"""Shards that are images: opened read-only, and replaced by newer ones between two requests."""

import asyncio
import shutil
import time
from pathlib import Path
from threading import Event
from weakref import WeakSet

import structlog
from prometheus_client import CollectorRegistry

from hive.errors import MetatideError, StoppedError
from processors.lost_records import has_records_of
from processors.worker.metrics import ImageMetrics
from processors.worker.waiters import Waiters
from state.image import Images, Manifest
from state.store import Commits, MemoryBudget, ReadOnlyStore, StorePosition, StoreSnapshot
from state.store.families import SHARD_FAMILIES, shard_identity
from state.topic import Topic, TopicReader

log = structlog.get_logger(__name__)


class ImagedShard:
    """One shard at the state of its newest image.

    Reads that began on an older image finish on it: its store is closed when the last snapshot of
    it is gone.
    """

    def __init__(self, store: ReadOnlyStore) -> None:
        self._store = store
        self._readers: WeakSet[StoreSnapshot] = WeakSet()
        self._before: list[tuple[ReadOnlyStore, WeakSet[StoreSnapshot]]] = []
        self._waiters = Waiters()

    @property
    def position(self) -> StorePosition:
        return self._store.position

    @property
    def commits(self) -> Commits:
        """The commits of the store; an image never gets any."""
        return self._store.commits

    def snapshot(self) -> StoreSnapshot | None:
        """The state in the image."""
        snapshot = self._store.snapshot()
        self._readers.add(snapshot)
        return snapshot

    async def complete_up_to(self, epoch: int, event: int, timeout_s: float) -> bool:
        """Waits for an image that is complete up to this event."""
        return await self._waiters.complete_up_to(self.position, epoch, event, timeout_s)

    def move_on(self, store: ReadOnlyStore) -> None:
        """Makes the next reads use this image."""
        self._before.append((self._store, self._readers))
        self._store, self._readers = store, WeakSet()
        self._waiters.wake(store.position)

    def let_go(self) -> None:
        """Closes and deletes images that nobody reads any more."""
        for opened in [opened for opened in self._before if not opened[1]]:
            self._before.remove(opened)
            _delete(opened[0])

    def close(self) -> None:
        for store, _ in (*self._before, (self._store, self._readers)):
            _delete(store)


class ImagedShards:
    """All shards of a topic, from images at one place that are copied to a local folder."""

    def __init__(self, topic: Topic, images: Images, folder: Path, budget: MemoryBudget) -> None:
        self.shards: dict[int, ImagedShard] = {}
        self.topic = topic
        self._images = images
        self._folder = folder
        self._budget = budget
        self._stop = Event()
        self.registry = CollectorRegistry()
        self.metrics = ImageMetrics(self.registry)
        for number in range(topic.shards):
            self.metrics.made_s.labels(number).set(time.time())
        shutil.rmtree(folder, ignore_errors=True)

    @property
    def missing(self) -> list[int]:
        """The shards that have no image yet."""
        return [number for number in range(self.topic.shards) if number not in self.shards]

    async def refresh(self) -> None:
        """Opens images that are newer than the open ones."""
        for number in range(self.topic.shards):
            shard = self.shards.get(number)
            if shard is None:
                store = await asyncio.to_thread(self._newer, number, -1)
                if store is not None:
                    self.shards[number] = ImagedShard(store)
                continue
            shard.let_go()
            store = await asyncio.to_thread(self._newer, number, shard.position.offset)
            if store is not None:
                shard.move_on(store)

    def snapshot(self, number: int) -> StoreSnapshot | None:
        shard = self.shards.get(number)
        return None if shard is None else shard.snapshot()

    def close(self) -> None:
        """Closes the images, and gives up one that is being fetched."""
        self._stop.set()
        for shard in self.shards.values():
            shard.close()
        self.shards.clear()

    def _newer(self, number: int, offset: int) -> ReadOnlyStore | None:
        """The newest usable image of a shard that is newer than the open one. If an image is
        broken, or pruned while it is fetched, an older one is tried.
        """

        def fits(position: StorePosition) -> bool:
            # The open image and older ones aren't opened, so the topic needn't be asked about them.
            return position.offset <= offset or self._fits_topic(number, position)

        try:
            for manifest in self._images.fitting(shard_identity(self.topic, number), fits):
                if manifest.position.offset <= offset:
                    return None
                try:
                    return self._opened(number, manifest)
                except StoppedError:
                    return None
                except (OSError, MetatideError) as error:
                    log.warning("can't open an image", shard=number, why=str(error))
        except (OSError, MetatideError) as error:
            log.warning("can't look for an image", shard=number, why=str(error))
        return None

    def _fits_topic(self, number: int, position: StorePosition) -> bool:
        """Whether the topic still has what an image of this position holds."""
        with TopicReader(self.topic) as reader:
            return has_records_of(reader, number, position)

    def _opened(self, number: int, manifest: Manifest) -> ReadOnlyStore:
        path = self._folder / str(number) / manifest.name.removesuffix(".json")
        shutil.rmtree(path, ignore_errors=True)
        self._images.restore(manifest, path, stop=self._stop)
        store = ReadOnlyStore(path, manifest.identity, families=SHARD_FAMILIES, budget=self._budget)
        self.metrics.made_s.labels(number).set(manifest.made_s)
        return store


def _delete(store: ReadOnlyStore) -> None:
    store.close()
    shutil.rmtree(store.path, ignore_errors=True)
