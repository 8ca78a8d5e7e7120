"""`metatide admin`: tells a running cache what to hold, and whether to serve."""

import sys
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

import click
import orjson
from rich.table import Table

from connectors.feed.single_records import record_at
from hive.errors import InputError
from hive.names import parse_table_name
from metatide.cli.groups import Group
from metatide.cli.worker_orders import Outcome, WorkerOrders
from metatide.config import Effective, configured
from metatide.members import none_of
from metatide.process.consoles import PlainConsole

_ORDERED_FIELDS = ("paused", "whitelist", "blacklist")


def _without_patterns(
    _: click.Context, __: click.Parameter, names: tuple[str, ...]
) -> tuple[str, ...]:
    for name in names:
        if "*" in name:
            raise click.BadParameter(
                f"{name} is not a table: name each table; only `lists` takes patterns"
            )
    return names


_TABLES = click.argument(
    "tables", nargs=-1, required=True, metavar="DB.TABLE...", callback=_without_patterns
)
_SETTINGS = configured("data_dir", "kafka.bootstrap_servers")


@click.group(cls=Group)
def command() -> None:
    """Tell a running cache what to hold, and whether to serve.

    Orders go through a worker and a connector into the topic, so that all workers apply them,
    including those that are built again later. Workers log each order and who gave it. A worker
    accepts orders from whoever holds the workers' secret (worker.secret_file). Without that, an
    order needs a token of the role admin (client.token) if reads.tokens_path is set; otherwise it
    must come from the worker's own machine.
    """


@command.command()
@_SETTINGS
@click.option("--json", "as_json", is_flag=True, help="Print JSON, as when piped.")
def show(effective: Effective, as_json: bool) -> None:
    """Show whether the cache serves, and its lists; shards in the same state share a line."""
    shards = WorkerOrders(effective.config).shards()
    if as_json or not sys.stdout.isatty():
        click.echo(orjson.dumps(shards, option=orjson.OPT_INDENT_2))
        return
    table = Table("shards", "serve", "whitelist", "blacklist", box=None, header_style="bold")
    for same in _groups_alike(shards):
        first, last = same[0], same[-1]
        span = str(first["shard"]) + (f" to {last['shard']}" if len(same) > 1 else "")
        lists = (" ".join(first[name]) or "-" for name in ("whitelist", "blacklist"))
        table.add_row(span, "no" if first["paused"] else "yes", *lists)
    PlainConsole().print(table)


@command.command()
@_SETTINGS
@_TABLES
def warm(effective: Effective, tables: tuple[str, ...]) -> None:
    """Load tables that nobody has read yet."""
    outcome = Outcome("will be loaded if it isn't", "will be loaded if they aren't")
    WorkerOrders(effective.config).send_for_existing("warm", tables, outcome)


@command.command()
@_SETTINGS
@_TABLES
def refresh(effective: Effective, tables: tuple[str, ...]) -> None:
    """Drop tables and load them again; until then the database answers."""
    outcome = Outcome(
        "will be dropped, and answered by the database until it is loaded again",
        "will be dropped, and answered by the database until they are loaded again",
    )
    WorkerOrders(effective.config).send_for_existing("refresh", tables, outcome)


@command.command()
@_SETTINGS
@_TABLES
def drop(effective: Effective, tables: tuple[str, ...]) -> None:
    """Drop tables from the cache until somebody reads them; the metastore keeps them."""
    orders = WorkerOrders(effective.config)
    # The cache may hold what was dropped in the database without an event.
    orders.send("drop", tables=tables)
    missing = orders.missing_tables(tables)
    then = "will be dropped until somebody reads"
    existing = [name for name in tables if parse_table_name(name) not in missing]
    Outcome(f"{then} it", f"{then} them").show(existing)
    if missing:
        phrase = "it, if it holds it" if len(missing) == 1 else "them, if it holds them"
        click.echo(f"{none_of(missing)} in the metastore: the cache drops {phrase}", err=True)


@command.command()
@_SETTINGS
def pause(effective: Effective) -> None:
    """Stop answering from the cache: the database answers everything, and the cache goes on
    following the log.
    """
    WorkerOrders(effective.config).send_and_wait("pause", "pause_version", {"paused": True})


@command.command()
@_SETTINGS
def resume(effective: Effective) -> None:
    """Answer from the cache again."""
    WorkerOrders(effective.config).send_and_wait("resume", "pause_version", {"paused": False})


@command.command()
@_SETTINGS
@click.option(
    "--whitelist",
    multiple=True,
    metavar="PATTERN",
    help="Cache only tables that match; repeatable.",
)
@click.option(
    "--blacklist",
    multiple=True,
    metavar="PATTERN",
    help="Don't cache tables that match; repeatable.",
)
def lists(effective: Effective, whitelist: tuple[str, ...], blacklist: tuple[str, ...]) -> None:
    """Set which tables are cached, by Hive's patterns over db.table; without any, all are.

    Tables that are left out are deleted from the cache at once; tables that are let in are loaded
    when they are read.
    """
    orders = WorkerOrders(effective.config)
    wanted = {"whitelist": [*whitelist], "blacklist": [*blacklist]}
    orders.send_and_wait("lists", "lists_version", wanted, **wanted)


@command.command()
@_SETTINGS
def reset(effective: Effective) -> None:
    """Drop everything, under a new epoch; what is read is loaded again.

    Use it when forged or damaged records have left shards in different epochs, or at events that
    the log doesn't have.
    """
    orders = WorkerOrders(effective.config)
    before = {shard["shard"]: shard["epoch"] for shard in orders.shards()}
    orders.send_above("reset", "epoch")
    orders.wait_until_applied(lambda shard: shard["epoch"] != before.get(shard["shard"]))


@command.command()
@_SETTINGS
@click.argument("shard", type=click.IntRange(0))
@click.argument("offset", type=click.IntRange(0))
@click.option(
    "--last",
    type=click.IntRange(0),
    metavar="OFFSET",
    help="Also skip those up to here that can't be read.",
)
def skip(effective: Effective, shard: int, offset: int, last: int | None) -> None:
    """Skip a record that can't be read, before which its shard has stopped.

    `metatide status` names both, `metatide topic record` shows the record. Nobody knows what it
    would have changed, so the shard drops all that it holds, and answers nothing from the cache
    until `metatide admin resume`: the record may have been an order, too.
    """
    orders = WorkerOrders(effective.config)
    shown = record_at(orders.topic, shard, offset)
    if shown.reason is None:
        raise InputError(f"shard {shard} can read offset {offset}, a {shown.type}: nothing to skip")
    if last is not None:
        record_at(orders.topic, shard, last)
    orders.send("skip", shard=shard, offset=offset, last=last)
    status = orders.wait_until_passed(shard, offset if last is None else last)
    click.echo(
        f"shard {shard} has passed offset {offset}. It has dropped what it held, and is paused: "
        "compare its lists with the others' (metatide admin show), then run metatide admin resume. "
        "What is read is loaded again; metatide prewarm loads the rest",
        err=True,
    )
    if status["unreadable"] is not None:
        click.echo(status["fault"], err=True)


def _groups_alike(shards: Sequence[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """Consecutive shards in the same state, as one group each."""

    def state(place: int) -> tuple[Any, ...]:
        shard = shards[place]
        return shard["shard"] - place, *(shard[name] for name in _ORDERED_FIELDS)

    for _, places in groupby(range(len(shards)), state):
        yield [shards[place] for place in places]
