"""Builds shards from the topic on executors, one task a shard, and publishes them as images."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from pyspark import SparkContext

from processors.replay.replay import replay
from processors.spark.scratch import scratch
from processors.spark.task import errors_with_shard
from state.image import Images
from state.store import MemoryBudget, Store
from state.store.families import SHARD_FAMILIES, shard_identity
from state.topic import Topic, TopicReader
from state.topic.same_topic import check_same


class Built(NamedTuple):
    """An image that an executor made; the driver sees nothing else of a shard."""

    shard: int
    image: str
    epoch: int
    event_id: int
    offset: int
    bytes: int
    exact: str


class Place(NamedTuple):
    """Where images go, and the memory that making them may take in each process."""

    url: str
    memory_bytes: int


def build_images(
    context: SparkContext, topic: Topic, ends: Sequence[tuple[int, int]], place: Place
) -> list[Built]:
    """Builds one image for each (shard, end offset) from the whole topic.

    A task that is retried, or runs twice, ends at the same offset and makes the same image;
    whichever manifest is written last names files that all exist.
    """
    context.setJobDescription(f"Metatide: build {len(ends)} shards of {topic.name}")
    tasks = context.parallelize(ends, len(ends))
    return tasks.map(partial(_build, topic, place)).collect()


def _build(topic: Topic, place: Place, task: tuple[int, int]) -> Built:
    shard, end = task
    budget = MemoryBudget(place.memory_bytes)
    with scratch() as folder:
        path = folder / "store"
        store = Store(path, shard_identity(topic, shard), families=SHARD_FAMILIES, budget=budget)
        with store, errors_with_shard(store), TopicReader(topic) as reader:
            replay(store, reader, end=end, whole=True)
            return publish(topic, Images(place.url, budget), store, folder / "image")


def publish(
    topic: Topic, images: Images, store: Store, scratch: Path, *, digested: bool = True
) -> Built:
    """Makes an image of the store and uploads it, unless another topic than the store's may have
    brought the records."""
    check_same(topic)
    manifest = images.create(store, scratch, digested=digested)
    position = manifest.position
    return Built(
        manifest.identity.shard,
        manifest.name,
        position.epoch,
        position.applied,
        position.offset,
        manifest.size,
        manifest.exact,
    )
