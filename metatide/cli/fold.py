"""`metatide fold`: folds an exported log of events."""

from collections.abc import Iterator
from pathlib import Path

import click
import orjson

from connectors.publish.renames import Renames
from connectors.publish.routing import route
from connectors.publish.translate import Addressed
from hive.errors import EventError, InputError
from hive.events.decode import decode
from hive.events.row import NotificationRow, row_from_json
from processors.fold import Fold
from state.export import export
from state.records import Change
from state.shard_reader import ShardReader
from state.store import MemoryStore


@click.command()
@click.argument("log", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--until", type=click.IntRange(min=0), metavar="EVENT_ID", help="Stop after this event."
)
def command(log: Path, until: int | None) -> None:
    """Fold an exported NOTIFICATION_LOG, and print the resulting state as JSON.

    Each line of LOG is a row of the table as a JSON object. What events alone can't tell is left
    out, and listed under "cold" with the reason. Names of objects begin with the catalog, unless
    that is the default one.
    """
    txn = MemoryStore().transaction()
    fold = Fold(txn)
    renames = Renames()
    for row in _rows(log, until):
        # The fold is that of a single shard, which gets the actions of all shards.
        actions = route(_addressed(row, renames), 1).get(0, ())
        fold.apply(Change(0, row.event_id - 1, row.event_id, actions))
    fold.flush()
    exported = export(ShardReader(txn))
    click.echo(orjson.dumps(exported, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS))


def _rows(log: Path, until: int | None) -> Iterator[NotificationRow]:
    last = 0
    with log.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            try:
                row = row_from_json(line)
            except InputError as error:
                raise InputError(f"{log}, line {number}: {error}") from None
            if row.event_id <= last:
                raise InputError(
                    f"{log}, line {number}: event {row.event_id} comes after {last}; "
                    "export the log ORDER BY EVENT_ID"
                )
            last = row.event_id
            if until is not None and row.event_id > until:
                return
            yield row


def _addressed(row: NotificationRow, renames: Renames) -> list[Addressed]:
    try:
        return renames.address(decode(row))
    except EventError as error:
        click.echo(f"metatide: {error}; what it touched is cold", err=True)
        return renames.undecodable(row)
