"""`metatide events`: prints the records of the topic."""

from collections.abc import Iterable, Iterator

import click

from connectors import topic_admin
from connectors.feed import topic_records
from hive.errors import InputError
from hive.names import parse_table_name
from metatide.config import Effective, configured
from metatide.topic import events_topic


@click.command()
@configured("data_dir", "kafka.bootstrap_servers")
@click.option(
    "--from",
    "from_event",
    type=click.IntRange(min=0),
    default=0,
    metavar="EVENT_ID",
    help="Leave out events before this one.",
)
@click.option("--follow", is_flag=True, help="Continue with new records until Ctrl-C.")
@click.option("--table", metavar="DB.TABLE", help="Only records that affect this table.")
@click.option(
    "--json", "as_json", is_flag=True, help="Print whole records, one JSON object per line."
)
@click.option(
    "--dead-letters", is_flag=True, help="Print the rows of the log that can't be read, as JSON."
)
def command(
    effective: Effective,
    from_event: int,
    follow: bool,
    table: str | None,
    as_json: bool,
    dead_letters: bool,
) -> None:
    """Print the records of the events topic.

    Each line has the shard and offset, the interval of event ids that the record covers, the type
    of the event and its effect. Records are in the order of their shard.
    """
    if dead_letters and table is not None:
        raise InputError("--dead-letters shows all rows: leave out --table")
    events = events_topic(effective.config)
    topic_admin.check(events)
    name = None if table is None else parse_table_name(table)
    lines: Iterator[str | bytes]
    if dead_letters:
        lines = topic_records.dead_letters(events, from_event=from_event, ever=follow)
    else:
        records = topic_records.follow(events, from_event=from_event, table=name, ever=follow)
        lines = map(topic_records.as_json if as_json else topic_records.as_line, records)
    print_lines(lines)


def print_lines(lines: Iterable[str | bytes]) -> None:
    """Prints lines until there are no more, until Ctrl-C, or until nobody reads them any more."""
    try:
        for line in lines:
            click.echo(line)
    except (KeyboardInterrupt, BrokenPipeError):
        pass
