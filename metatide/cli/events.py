"""`metatide events`: what is in the topic."""

import sys

import click

from connectors import show, topic
from hive.names import parse_table_name
from metatide.config import Effective, configured
from metatide.kafka import events_topic


@click.command()
@configured("data_dir", "kafka.bootstrap_servers")
@click.option(
    "--from",
    "from_event",
    type=click.IntRange(min=0),
    default=0,
    metavar="EVENT_ID",
    help="Leave out what comes before this event.",
)
@click.option("--follow", is_flag=True, help="Go on with what comes, until Ctrl-C.")
@click.option("--table", metavar="DB.TABLE", help="What touches this table only.")
@click.option("--json", "as_json", is_flag=True, help="Whole records, one JSON object a line.")
def command(
    effective: Effective, from_event: int, follow: bool, table: str | None, as_json: bool
) -> None:
    """Print the records of the events topic.

    A line has the shard and the offset, the interval of event ids that the record stands for, the
    event's type and what it does. The order is that of each shard.
    """
    events = events_topic(effective.config)
    topic.check(events)
    name = None if table is None else parse_table_name(table)
    try:
        for shown in show.follow(events, from_event=from_event, table=name, ever=follow):
            click.echo(show.as_json(shown) if as_json else show.as_line(shown))
            if follow:
                sys.stdout.flush()
    except (KeyboardInterrupt, BrokenPipeError):
        pass
