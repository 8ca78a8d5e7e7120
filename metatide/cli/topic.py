"""`metatide topic`: the events topic itself."""

import click
import orjson

from connectors import topic
from hive.errors import InputError
from metatide.config import Effective, configured
from metatide.kafka import events_topic


@click.group("topic")
def command() -> None:
    """Show, create or trim the events topic, which the whole cache is built from."""


@command.command()
@configured("data_dir", "kafka.bootstrap_servers")
def create(effective: Effective) -> None:
    """Make the topic as the configuration has it.

    It keeps everything for ever and is not compacted. One that exists is left as it is, and refused
    if it has another number of partitions: each is a shard, and a shard can't be split.
    """
    events = events_topic(effective.config)
    created = topic.create(events)
    click.echo(orjson.dumps({"topic": events.name, "created": created}))


@command.command()
@configured("data_dir", "kafka.bootstrap_servers")
def show(effective: Effective) -> None:
    """Print the topic's id, settings and offsets as JSON."""
    found = topic.describe(events_topic(effective.config))
    shown = {
        "topic": found.name,
        "id": found.id,
        "settings": dict(found.settings),
        "partitions": [one._asdict() for one in found.partitions],
    }
    click.echo(orjson.dumps(shown, option=orjson.OPT_INDENT_2))


@command.command()
@configured("data_dir", "kafka.bootstrap_servers")
@click.option(
    "--keep-from",
    "keep_from",
    multiple=True,
    required=True,
    metavar="SHARD=OFFSET",
    help="The first offset of a shard that must stay; may be given for each shard.",
)
def trim(effective: Effective, keep_from: tuple[str, ...]) -> None:
    """Delete the oldest records of shards.

    Give the lowest offset that any image of a shard still has to be replayed from: a worker with
    no image, or an older one, builds its shard from what is left and asks for loads. The last
    records of a shard stay in any case, because they say how far it has come.
    """
    kept = topic.trim(events_topic(effective.config), dict(map(_place, keep_from)))
    click.echo(orjson.dumps({"first": {str(shard): first for shard, first in kept.items()}}))


def _place(text: str) -> tuple[int, int]:
    shard, _, offset = text.partition("=")
    if not (shard.isdecimal() and offset.isdecimal()):
        raise InputError(f"--keep-from {text}: write SHARD=OFFSET, two numbers")
    return int(shard), int(offset)
