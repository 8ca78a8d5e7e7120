"""`metatide image`: copies of shards, from which workers start."""

import time
from collections.abc import Iterable
from contextlib import ExitStack
from functools import partial
from typing import Any

import click
import httpx
import msgspec
import orjson

from hive.errors import InputError, MachineError
from metatide.cli.groups import Group
from metatide.config import Config, Effective, configured
from metatide.members import json_of, members, scheme, worker_client
from metatide.process.data_folder import open_data_folder
from metatide.topic import await_ticket, events_topic, find_topic
from metatide.worker.operations import IMAGES_PATH
from processors.directory import WorkerDirectory, worker_path
from processors.lost_records import has_records_of
from state.image import Images, Manifest
from state.store import MemoryBudget, Store
from state.store.families import SHARD_FAMILIES, shard_identity
from state.topic import Topic, TopicReader
from state.topic.client import topic_bounds

TIMEOUT_S = 600.0
_CONFIGURED = ("data_dir", "kafka.bootstrap_servers", "worker.name", "images.url")
_SHARD = click.option("--shard", "shard", type=int, metavar="N", help="This one only.")


@click.group("image", cls=Group)
def command() -> None:
    """Make, list, restore and prune images of shards.

    A running worker makes images of its shards by itself, and a worker without stores starts from
    the newest images. `create` also works while the worker runs, `restore` only while it is
    stopped. `once` and `follow` make images on Spark, without any worker.
    """


@command.command()
@configured(*_CONFIGURED)
@_SHARD
def create(effective: Effective, shard: int | None) -> None:
    """Make an image of each shard of a worker.

    A running worker makes them itself, at the URL of its own configuration (images.url).
    """
    directory = _directory(effective.config)
    numbers = _stored(directory, shard)
    topic, images, budget = _open(effective.config)
    with ExitStack() as stack:
        try:
            stack.enter_context(directory.owned())
        except MachineError as error:
            for manifest in _made_by_worker(effective.config, shard, str(error)):
                _print(manifest)
            return
        for number in numbers:
            path, identity = directory.store(number), shard_identity(topic, number)
            with Store(path, identity, families=SHARD_FAMILIES, budget=budget) as store:
                try:
                    _print(images.create(store, directory.scratch(number)))
                except OSError as error:
                    raise MachineError(f"the image wasn't made: {error}") from error


@command.command("list")
@configured(*_CONFIGURED)
@_SHARD
def list_(effective: Effective, shard: int | None) -> None:
    """List the images of this topic's shards, one JSON object per line."""
    topic, images, _ = _open(effective.config)
    images.require_place()
    for number in _shards(topic, shard):
        for manifest in images.of(shard_identity(topic, number)):
            _print(manifest)


@command.command()
@configured(*_CONFIGURED)
@_SHARD
def restore(effective: Effective, shard: int | None) -> None:
    """Replace each shard of a stopped worker's store by the newest image."""
    directory = _directory(effective.config)
    topic, images, _ = _open(effective.config)
    numbers = _imaged(topic, images, shard)
    unrestored = []
    with directory.owned(), TopicReader(topic) as reader:
        for number in numbers:
            identity, new = shard_identity(topic, number), directory.new(number)
            fits = partial(has_records_of, reader, number)
            manifest = images.restore_newest(identity, new, fits=fits)
            if manifest is None:
                unrestored.append(number)
            else:
                directory.swap_in(number)
                _print(manifest)
    if unrestored:
        raise MachineError(
            f"no image of shard {', '.join(map(str, unrestored))} can be used, as the log says "
            "above: its store stays as it was"
        )


@command.command()
@configured(*_CONFIGURED)
@_SHARD
@click.option(
    "--keep",
    type=click.IntRange(min=1),
    metavar="N",
    help="The number of images to keep, instead of images.keep.",
)
def prune(effective: Effective, shard: int | None, keep: int | None) -> None:
    """Delete old images of this topic's shards, and files that no image needs."""
    topic, images, _ = _open(effective.config)
    images.require_place()
    keep = keep or effective.config.images.keep
    with TopicReader(topic) as reader:
        for number in _shards(topic, shard):
            fits = partial(has_records_of, reader, number)
            gone = images.prune(shard_identity(topic, number), keep, fits=fits)
            click.echo(orjson.dumps({"shard": number, "files_deleted": gone}))


@command.command()
@configured("data_dir", "kafka.bootstrap_servers", "images.url", "spark.master")
def once(effective: Effective) -> None:
    """Fold the topic's current contents into the next image of each shard, on Spark."""
    _on_spark(effective.config, None)


@command.command()
@configured("data_dir", "kafka.bootstrap_servers", "images.url", "spark.master")
@click.option(
    "--every",
    "every_s",
    type=click.FloatRange(min=0.1),
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="How often to make an image, if there are new records.",
)
def follow(effective: Effective, every_s: float) -> None:
    """Keep making the next image of each shard, on Spark, until Ctrl-C.

    Prints a line of JSON for each new image of a shard that has new records. It may be killed at
    any time: the next run continues from the newest images.
    """
    _on_spark(effective.config, every_s)


def _on_spark(config: Config, every_s: float | None) -> None:
    # Spark takes half a second to import, which the other commands don't need.
    from metatide.spark.session import session
    from processors.spark.build import Built, Place
    from processors.spark.follow import Follower

    def heard(built: Built) -> None:
        click.echo(orjson.dumps(built._asdict()))

    await_ticket(config)
    topic, _, _ = _open(config)
    bounds = topic_bounds(topic)
    place = Place(config.images.require_url(), config.state.memory_bytes)
    with session(config, f"images of {topic.name}", reads_kafka=True) as spark:
        follower = Follower(spark, topic, place, config.images.keep, heard)
        if every_s is None:
            follower.once(bounds)
        else:
            follower.follow(bounds, every_s)


def _made_by_worker(config: Config, shard: int | None, owned: str) -> list[Manifest]:
    """Has the running worker of this name make the images."""
    worker = config.worker
    address = dict(members(events_topic(config), config.worker_group)).get(worker.name)
    if address is None:
        raise MachineError(
            f"{owned}. It can't be asked either, because it isn't in the group "
            f"{config.worker_group} yet"
        )
    url = f"{scheme(config)}://{address}{IMAGES_PATH}"
    with worker_client(config, TIMEOUT_S) as client:
        try:
            answer = client.post(url, json={"shard": shard})
        except httpx.HTTPError as error:
            raise MachineError(f"{url} doesn't answer: {error}") from error
    return msgspec.json.decode(json_of(answer), type=list[Manifest])


def _open(config: Config) -> tuple[Topic, Images, MemoryBudget]:
    url, budget = config.images.require_url(), MemoryBudget(config.state.memory_bytes)
    return find_topic(config), Images(url, budget), budget


def _directory(config: Config) -> WorkerDirectory:
    return WorkerDirectory(worker_path(open_data_folder(config), config.worker.name))


def _stored(directory: WorkerDirectory, shard: int | None) -> list[int]:
    """The shards of a worker's stores, or one of them. Without such a store, an empty one would be
    made, of which an image would be the newest.
    """
    numbers = [number for number in directory.shards() if shard in (None, number)]
    if not numbers:
        which = "" if shard is None else f" of shard {shard}"
        raise InputError(
            f"worker {directory.path.name} has no store{which} in {directory.path.parent}: "
            "name one that has (--worker-name, --shard); metatide status shows them"
        )
    return numbers


def _imaged(topic: Topic, images: Images, shard: int | None) -> list[int]:
    """The shards that have an image, or one of them."""
    numbers = [
        number for number in _shards(topic, shard) if any(images.of(shard_identity(topic, number)))
    ]
    if not numbers:
        which = "" if shard is None else f"'s shard {shard}"
        raise InputError(
            f"there is no image of topic {topic.name}{which}: make one (metatide image create), "
            "or name the place that has them (--images)"
        )
    return numbers


def _shards(topic: Topic, shard: int | None) -> Iterable[int]:
    if shard is None:
        return range(topic.shards)
    topic.require_shard(shard)
    return [shard]


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
