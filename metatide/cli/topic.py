"""`metatide topic`: manages the events topic."""

import click
import msgspec
import orjson

from connectors import topic_admin
from connectors.single_records import record_at
from hive.errors import InputError
from metatide.cli.groups import Group
from metatide.config import Effective, configured
from metatide.topic import events_topic, find_topic
from state.image import Images
from state.store import MemoryBudget
from state.store.families import shard_identity

MIB = 1 << 20


@click.group("topic", cls=Group)
def command() -> None:
    """Show, create or trim the events topic, from which the whole cache is built."""


@command.command()
@configured("data_dir", "kafka.bootstrap_servers")
def create(effective: Effective) -> None:
    """Create the topic as configured.

    It keeps records for ever and is not compacted. An existing topic is left as it is, but the
    command fails if the number of partitions differs: each is a shard, and a shard can't be split.
    """
    events = events_topic(effective.config)
    created = topic_admin.create(events)
    click.echo(orjson.dumps({"topic": events.name, "created": created}))


@command.command()
@configured("data_dir", "kafka.bootstrap_servers")
def show(effective: Effective) -> None:
    """Print the topic's id, settings and offsets as JSON."""
    description = topic_admin.describe(events_topic(effective.config))
    shown = {
        "topic": description.name,
        "id": description.id,
        "settings": dict(description.settings),
        "partitions": [partition._asdict() for partition in description.partitions],
    }
    click.echo(orjson.dumps(shown, option=orjson.OPT_INDENT_2))


@command.command()
@configured("data_dir", "kafka.bootstrap_servers")
@click.argument("shard", type=click.IntRange(0))
@click.argument("offset", type=click.IntRange(0))
def record(effective: Effective, shard: int, offset: int) -> None:
    """Print one record as JSON, even one that can't be read.

    It tells why the record can't be read, its type as far as its first bytes tell it, its headers,
    and an excerpt. `metatide events` prints records that can be read.
    """
    shown = record_at(find_topic(effective.config), shard, offset)
    click.echo(orjson.dumps(msgspec.to_builtins(shown), option=orjson.OPT_INDENT_2))


@command.command()
@configured("data_dir", "kafka.bootstrap_servers", "images.url")
def trim(effective: Effective) -> None:
    """Delete the records that no image needs any more.

    In each shard these are the records up to its oldest image: workers start from an image and read
    the topic from there on. A shard without an image can only be built from the whole topic, so
    while there is one, nothing is deleted. The last records of each shard always stay, because they
    tell how far it has come.
    """
    config = effective.config
    if config.images.url is None:
        raise InputError(
            "give the place of the images (--images URL): without them only the whole topic can "
            "rebuild a shard, so nothing of it may go"
        )
    events = find_topic(config)
    images = Images(config.images.url, MemoryBudget(config.state.memory_mib * MIB))
    needed = {
        shard: min(
            (image.position.offset for image in images.of(shard_identity(events, shard))),
            default=None,
        )
        for shard in range(events.shards)
    }
    without = [str(shard) for shard, offset in needed.items() if offset is None]
    if without:
        raise InputError(
            f"no image of shard {', '.join(without)} of {events.name} is at "
            f"{config.images.url.masked}, and only the whole topic can rebuild what has none: make "
            "one with `metatide image create`, or let workers run with images.url, then trim"
        )
    keep_from = {shard: offset for shard, offset in needed.items() if offset is not None}
    first = topic_admin.trim(events_topic(config), keep_from)
    click.echo(orjson.dumps({"first": {str(shard): offset for shard, offset in first.items()}}))
