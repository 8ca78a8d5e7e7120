"""`metatide topic`: manages the events topic."""

from functools import partial

import click
import msgspec
import orjson

from connectors import topic_admin
from connectors.feed.event_feed import feed
from connectors.feed.feed_formats import FeedFormat, as_cloud_event, as_json, parse_position
from connectors.feed.single_records import record_at
from hive.errors import InputError
from metatide.cli.events import print_lines
from metatide.cli.groups import Group
from metatide.config import Effective, configured
from metatide.topic import events_topic, find_topic
from processors.lost_records import has_records_of
from state.image import Images
from state.store import Identity, MemoryBudget
from state.store.families import shard_identity
from state.topic import TopicReader


@click.group("topic", cls=Group)
def command() -> None:
    """Show, create or trim the events topic, from which the whole cache is built."""


@command.command()
@configured("data_dir", "kafka.bootstrap_servers")
def create(effective: Effective) -> None:
    """Create the topic as configured.

    It keeps records permanently and is not compacted. An existing topic is left as it is, but the
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

    It shows why the record can't be read, its type as far as its first bytes say it, its headers,
    and an excerpt. `metatide events` prints records that can be read.
    """
    shown = record_at(find_topic(effective.config), shard, offset)
    click.echo(orjson.dumps(msgspec.to_builtins(shown), option=orjson.OPT_INDENT_2))


@command.command()
@configured("data_dir", "kafka.bootstrap_servers")
@click.option(
    "--format",
    "format_",
    type=click.Choice(list(FeedFormat), case_sensitive=False),
    default=FeedFormat.JSON,
    show_default=True,
    help="The form of a line.",
)
@click.option(
    "--after",
    metavar="POSITION",
    default=None,
    help="Only what comes after the line of this position.",
)
@click.option("--follow", is_flag=True, help="Continue with new events until Ctrl-C.")
def export(effective: Effective, format_: FeedFormat, after: str | None, follow: bool) -> None:
    """Print the changes of the metastore as a feed: a line of JSON for each event.

    Events come once each and in the order of the metastore's log, whatever shards they touched.
    Objects have the field names of Hive's Thrift. To go on later, give the position of the last
    line as --after. A line whose event is GAP stands for events that the topic lacks.
    """
    position = None if after is None else parse_position(after)
    topic = find_topic(effective.config)
    assert topic.id is not None
    events = (
        event for event in feed(topic, ever=follow) if position is None or event.position > position
    )
    as_line = as_json if format_ is FeedFormat.JSON else partial(as_cloud_event, topic_id=topic.id)
    print_lines(map(as_line, events))


@command.command()
@configured("data_dir", "kafka.bootstrap_servers", "images.url")
def trim(effective: Effective) -> None:
    """Delete the records that no image needs any more.

    In each shard these are the records up to its oldest image: workers start from an image and read
    the topic from there on. Images of other releases count, too, until somebody deletes them: their
    workers would have nothing else to start from. A shard without an image can only be built from
    the whole topic, so while there is one, nothing is deleted. The last records of each shard
    always stay, back to the last one that shows how far it has come. So do lists of tables and a
    pause that hold: they are written again behind everything.
    """
    config = effective.config
    url = config.images.require_url(
        "without them only the whole topic can rebuild a shard, so nothing of it may go"
    )
    events = find_topic(config)
    images = Images(url, MemoryBudget(config.state.memory_bytes))
    needed = {}
    with TopicReader(events) as reader:
        for shard in range(events.shards):
            fits = partial(has_records_of, reader, shard)
            fitting = images.fitting(shard_identity(events, shard), fits)
            needed[shard] = min((image.position.offset for image in fitting), default=None)
    without = [str(shard) for shard, offset in needed.items() if offset is None]
    if without:
        raise InputError(
            f"no image of shard {', '.join(without)} that fits {events.name} is at "
            f"{url.masked}, and only the whole topic can rebuild what has none: make "
            "one with `metatide image create`, or let workers run with images.url, then trim"
        )
    keep_from = {
        shard: _needed_by_any(images, shard_identity(events, shard), offset)
        for shard, offset in needed.items()
        if offset is not None
    }
    first = topic_admin.trim(events_topic(config), keep_from)
    click.echo(orjson.dumps({"first": {str(shard): offset for shard, offset in first.items()}}))


def _needed_by_any(images: Images, identity: Identity, needed: int) -> int:
    """The first offset of a shard that an image of any release needs, `needed` by this one's."""
    for image in images.of_others(identity):
        if image.position.offset < needed:
            needed = image.position.offset
            click.echo(
                f"shard {identity.shard} keeps its records from offset {needed} on for the image "
                f"{image.name} of another release; delete that if the release won't run again",
                err=True,
            )
    return needed
