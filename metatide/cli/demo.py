"""`metatide demo`: a workload that writes to the metastore's database as Hive does."""

from collections.abc import Callable
from typing import Any

import click

from metatide.cli.groups import Group
from metatide.config import Effective, configured
from metatide.demo.bulk import fill as fill_catalog
from metatide.demo.options import Limits, Release, Size
from metatide.demo.pace import Pace
from metatide.demo.store import Store
from metatide.demo.workload import Style, Workload
from metatide.process.rate_report import reporting
from metatide.stack.running import database_url

Command = Callable[..., None]


def _options(*options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    def decorate(function: Command) -> Command:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


def _number(name: str, default: Any, help_: str) -> Callable[[Command], Command]:
    return click.option(name, default=default, show_default=True, type=type(default), help=help_)


_size = _options(
    _number("--tables", 100, "The initial number of tables."),
    _number("--partitions", 2_000, "The initial number of partitions of all tables."),
    _number("--column-layouts", 40, "The number of different lists of columns."),
    _number(
        "--skew", 1.0, "Zipf's exponent: how unevenly size and changes are spread over tables."
    ),
    _number("--seed", 0, "The seed of all random decisions."),
)
_messages = _options(
    click.option(
        "--hive-version",
        type=click.Choice([release.value for release in Release]),
        default=Release.HIVE_4_2.value,
        show_default=True,
        help="The release of Hive whose messages are written.",
    ),
    click.option(
        "--gzip-share",
        type=click.FloatRange(0, 1),
        default=0.5,
        show_default=True,
        help="The share of messages that are compressed.",
    ),
)


@click.group("demo", cls=Group)
def command() -> None:
    """Write to a metastore's database as Hive does, to try Metatide or to put load on it.

    Each run works in databases of its own, named demoN_…, by default in the metastore of `metatide
    up`. Don't point it at a metastore that people use.
    """


@command.command()
@configured("data_dir", "database.url")
@_size
@_messages
@click.option(
    "--writers",
    default=4,
    show_default=True,
    help="The number of connections that write concurrently.",
)
@click.option("--events", type=int, help="Stop after this many events.")
@click.option("--seconds", type=float, help="Stop after this many seconds.")
@click.option("--events-per-s", type=float, help="The maximum number of events per second.")
def run(
    effective: Effective,
    writers: int,
    events: int | None,
    seconds: float | None,
    events_per_s: float | None,
    **options: Any,
) -> None:
    """Write events along with the rows that they describe, until Ctrl-C or a limit.

    It begins with the events that create the initial tables and partitions; limits count from then
    on. The rate is shown while it runs, as JSON lines if piped.
    """
    limits = Limits(events, seconds, events_per_s, writers)
    store = _store(effective)
    workload = _workload(store, store.session, options)
    pace = Pace(limits)
    # It may have no end of its own.
    with reporting("events", lambda: workload.events, stop_unread=pace.end):
        workload.prepare(pace)
        pace.begin(workload.events)
        workload.run(writers, pace)


@command.command()
@configured("data_dir", "database.url")
@_size
def fill(effective: Effective, **options: Any) -> None:
    """Write a catalog of a given size in bulk, without events.

    A cache that is already loaded doesn't notice it: fill first, then start the cache.
    """
    store = _store(effective)
    workload = _workload(store, store.session, options)
    written = 0
    with reporting("partitions", lambda: written):
        for written in fill_catalog(workload):  # noqa: B007
            pass


@command.command()
@configured("data_dir", "database.url")
@_size
@_messages
@click.option("--events", type=int, required=True, help="The number of events to write.")
def log(effective: Effective, events: int, **options: Any) -> None:
    """Write events in bulk, without the rows that they describe: a log to read, without a
    catalog.
    """
    store = _store(effective)
    workload = _workload(store, store.log_only, options)
    pace = Pace(Limits(events=events))
    with reporting("events", lambda: workload.events):
        pace.begin(0)
        workload.prepare(pace)
        workload.run(1, pace)


def _store(effective: Effective) -> Store:
    return Store(database_url(effective.config))


def _workload(store: Store, open_sink: Any, options: dict[str, Any]) -> Workload:
    size = Size(
        options["tables"],
        options["partitions"],
        options["column_layouts"],
        options["skew"],
    )
    style = Style(
        seed=options["seed"],
        release=Release(options.get("hive_version", Release.HIVE_4_2.value)),
        zipped_share=options.get("gzip_share", 0.5),
        warehouse=store.warehouse,
    )
    return Workload(store.ids, open_sink, store.schema, size, style)
