"""`metatide image`: copies of shards, to begin from."""

import time
from collections.abc import Iterator
from typing import Any

import click
import orjson

from hive.errors import InputError
from metatide.config import Config, Effective, configured
from metatide.topic import find_topic
from processors.directory import WorkerDirectory, worker_path
from processors.topic import Topic
from state.image import Images, Manifest
from state.store import MemoryBudget, Store
from state.store.families import SHARD_FAMILIES

MIB = 1 << 20
_CONFIGURED = ("data_dir", "kafka.bootstrap_servers", "worker.name", "images.url")
_SHARD = click.option("--shard", "shard", type=int, metavar="N", help="This one only.")


@click.group("image")
def command() -> None:
    """Make, list, restore and prune images of shards.

    A running worker makes images of its shards by itself, and one that lacks a store begins with
    the newest image; create and restore are for stopped ones.
    """


@command.command()
@configured(*_CONFIGURED)
@_SHARD
def create(effective: Effective, shard: int | None) -> None:
    """Make an image of each shard of a stopped worker."""
    topic, images, budget = _open(effective.config)
    directory = _directory(effective.config)
    with directory.owned():
        for number in directory.shards() if shard is None else [shard]:
            path, identity = directory.store(number), topic.identity(number)
            with Store(path, identity, families=SHARD_FAMILIES, budget=budget) as store:
                _print(images.create(store, directory.scratch(number)))


@command.command("list")
@configured(*_CONFIGURED)
@_SHARD
def list_(effective: Effective, shard: int | None) -> None:
    """List the images of this topic's shards, a JSON object a line."""
    topic, images, _ = _open(effective.config)
    for number in _shards(topic, shard):
        for manifest in images.of(topic.identity(number)):
            _print(manifest)


@command.command()
@configured(*_CONFIGURED)
@_SHARD
def restore(effective: Effective, shard: int | None) -> None:
    """Put the newest image of each shard in the place of a stopped worker's store."""
    topic, images, _ = _open(effective.config)
    directory = _directory(effective.config)
    with directory.owned():
        for number in _shards(topic, shard):
            found = images.restore_newest(topic.identity(number), directory.new(number))
            if found is not None:
                directory.swap_in(number)
                _print(found)


@command.command()
@configured(*_CONFIGURED)
@_SHARD
@click.option("--keep", type=click.IntRange(min=1), metavar="N", help="So many; else images.keep.")
def prune(effective: Effective, shard: int | None, keep: int | None) -> None:
    """Delete old images of this topic's shards, and files that no image needs."""
    topic, images, _ = _open(effective.config)
    for number in _shards(topic, shard):
        gone = images.prune(topic.identity(number), keep or effective.config.images.keep)
        click.echo(orjson.dumps({"shard": number, "files_deleted": gone}))


def _open(config: Config) -> tuple[Topic, Images, MemoryBudget]:
    if config.images.url is None:
        raise InputError("say where images are kept (--images URL)")
    budget = MemoryBudget(config.state.memory_mib * MIB)
    return find_topic(config), Images(config.images.url, budget), budget


def _directory(config: Config) -> WorkerDirectory:
    return WorkerDirectory(worker_path(config.data_dir, config.worker.name))


def _shards(topic: Topic, shard: int | None) -> Iterator[int]:
    if shard is None:
        yield from range(topic.partitions)
    elif 0 <= shard < topic.partitions:
        yield shard
    else:
        raise InputError(
            f"there is no shard {shard}: topic {topic.name} has 0 to {topic.partitions - 1}"
        )


def _print(manifest: Manifest) -> None:
    line: dict[str, Any] = {
        "shard": manifest.identity.shard,
        "image": manifest.name,
        "epoch": manifest.position.epoch,
        "event_id": manifest.position.applied,
        "offset": manifest.position.offset,
        "bytes": manifest.size,
        "age_s": round(time.time() - manifest.made_s, 1),
        "exact": manifest.exact,
    }
    click.echo(orjson.dumps(line))
