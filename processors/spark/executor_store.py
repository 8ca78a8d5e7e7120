"""The store of a shard that an executor keeps between two batches."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import NamedTuple

import structlog

from hive.errors import ColdShardError, OtherStoreError
from processors.lost_records import has_records_of
from processors.spark.build import Place
from state.image import Images
from state.store import MemoryBudget, Store
from state.store.families import SHARD_FAMILIES, shard_identity
from state.topic import Topic, TopicReader

log = structlog.get_logger(__name__)


class ExecutorStore(NamedTuple):
    """An open store, its images, and the path of a scratch folder that doesn't exist yet."""

    store: Store
    images: Images
    scratch: Path
    imaged: int
    """The offset of the newest image; -1 without one."""


@contextmanager
def kept_store(topic: Topic, shard: int, place: Place) -> Iterator[ExecutorStore]:
    """The store on this disk if it is as new as the newest image; else that image, or an empty
    store. What the topic has lost is in none of them."""
    identity = shard_identity(topic, shard)
    budget, images = _memory(place)
    path = _folder(topic) / str(shard)
    with TopicReader(topic) as reader:
        fits = cache(partial(has_records_of, reader, shard))
        newest = next(images.fitting(identity, fits), None)
        imaged = -1 if newest is None else newest.position.offset
        store = _open(path, topic, shard, budget) if path.exists() else None
        if store is not None and (store.position.offset < imaged or not fits(store.position)):
            store.close()
            store = None
        if store is None:
            # An interrupted download never stands under the store's name.
            new = path.with_suffix(".new")
            for stale in (path, new):
                shutil.rmtree(stale, ignore_errors=True)
            if images.restore_newest(identity, new, fits=fits) is not None:
                new.rename(path)
            store = Store(path, identity, families=SHARD_FAMILIES, budget=budget)
    scratch = path.with_suffix(".image")
    shutil.rmtree(scratch, ignore_errors=True)
    with store:
        yield ExecutorStore(store, images, scratch, imaged)


def _open(path: Path, topic: Topic, shard: int, budget: MemoryBudget) -> Store | None:
    try:
        return Store(path, shard_identity(topic, shard), families=SHARD_FAMILIES, budget=budget)
    except (ColdShardError, OtherStoreError) as error:
        log.warning("a kept store can't be used", error=str(error))
        return None


@lru_cache(maxsize=1)
def _memory(place: Place) -> tuple[MemoryBudget, Images]:
    """One budget for all batches of a process, and one set of images, which remembers file
    hashes."""
    budget = MemoryBudget(place.memory_bytes)
    return budget, Images(place.url, budget)


def _folder(topic: Topic) -> Path:
    """The folder that Spark deletes with the application; each executor has its own."""
    assert topic.id is not None
    place = os.environ.get("SPARK_LOCAL_DIRS", "").split(",")[0] or tempfile.gettempdir()
    folder = Path(place) / "metatide" / topic.id.replace("/", "_")
    folder.mkdir(parents=True, exist_ok=True)
    return folder
