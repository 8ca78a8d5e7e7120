"""`metatide prewarm`: loads everything in the metastore's database once."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

import click
from rich import filesize
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from sqlalchemy.exc import SQLAlchemyError

from connectors import topic_admin
from connectors.loads.batch import Database, find_database, unreadable
from connectors.loads.finished_loads import ended_scopes
from connectors.loads.loader import WORKERS, Loader
from connectors.loads.plan import Planned, everything
from connectors.loads.replica import open_reached
from connectors.publish import tails
from hive.errors import MachineError
from hive.reader.engines import unpooled_engine, without_limits
from hive.schema import Version
from metatide.config import Config, Effective, configured
from metatide.process.consoles import PlainConsole
from metatide.process.garbage_collection import collect_seldom
from metatide.process.rate_report import reporting
from metatide.process.ticks import ticking
from metatide.stack.running import database_url
from metatide.topic import await_ticket, events_topic
from state.records.table_lists import TableLists, check_patterns
from state.topic import Topic

_LOOK_S = 0.05
SPARK_PARTITIONS_MIN = 250_000
"""With fewer partitions, Spark would take longer to start than it saves."""


@click.command()
@configured("data_dir", "kafka.bootstrap_servers", "database.url", "spark.master")
@click.option(
    "--engine",
    type=click.Choice(["auto", "local", "spark"]),
    default="auto",
    show_default=True,
    help=f"local reads here; auto is spark from {SPARK_PARTITIONS_MIN:,} partitions on.",
)
@click.option(
    "--tables",
    multiple=True,
    metavar="PATTERN",
    help="Load only tables that match: db.table, *, |.",
)
@click.option("--except", "but", multiple=True, metavar="PATTERN", help="Don't load these.")
@click.option(
    "--threads",
    type=click.IntRange(1, 32),
    default=WORKERS,
    show_default=True,
    help="The number of concurrent readers with local, each with its own connection.",
)
@click.option("--again", is_flag=True, help="Also load again what the topic already holds.")
def command(
    effective: Effective,
    engine: str,
    tables: tuple[str, ...],
    but: tuple[str, ...],
    threads: int,
    again: bool,
) -> None:
    """Load the metastore's tables into the topic before anybody reads them.

    Spark executors read the database and write to the topic directly, see docs/spark.md.

    It may be interrupted: what was loaded isn't loaded again. Tables become warm when the connector
    has published the events up to the moment at which they were read.
    """
    events = events_topic(effective.config)
    await_ticket(effective.config)
    url = database_url(effective.config)
    topic_admin.create(events)
    tail = tails.find(events)
    if tail.behind:
        raise MachineError(
            f"an epoch has begun in some shards of {events.name} only: run `metatide connect`, "
            "which ends that, then prewarm"
        )
    check_patterns((*tables, *but))
    lists = TableLists(tables, but)
    database = find_database(without_limits(unpooled_engine(url)))
    planned = _plan(database, lists, tail.furthest.event_id)
    partitions = sum(plan.partitions for plan in planned)
    if engine == "spark" or (engine == "auto" and partitions >= SPARK_PARTITIONS_MIN):
        reach = (url, database.version, events, tail.epoch)
        _load_on_spark(effective.config, reach, planned, again=again)
    else:
        loaded = set() if again else ended_scopes(events, tail.epoch)
        due = [plan for plan in planned if plan.scope not in loaded]
        loader = Loader(database.engine, events, lists=lists, workers=threads)
        loader.add(due)
        with _showing(loader.progress, due):
            _load(loader, events, tail.epoch)
    if tails.find(events).epoch != tail.epoch:
        raise MachineError(
            f"an epoch has begun in {events.name} meanwhile, so that these loads don't count: "
            "run it again"
        )


def _plan(database: Database, lists: TableLists, published: int) -> list[Planned]:
    try:
        with open_reached(database, published) as snapshot:
            return everything(snapshot, lists)
    except SQLAlchemyError as error:
        raise unreadable(error) from error


def _load(loader: Loader, events: Topic, epoch: int) -> None:
    collect_seldom()
    loader.start(epoch, listens=False)
    try:
        while not loader.idle:
            if loader.fault is not None:
                raise MachineError(
                    f"{loader.fault}; what was loaded until now is in {events.name}: "
                    "run it again, and it goes on from there"
                )
            time.sleep(_LOOK_S)
    finally:
        loader.stop()
    if loader.given_up:
        raise MachineError(
            f"{loader.given_up} of the loads were given up, as the log says above; all others are "
            f"in {events.name}"
        )


def _load_on_spark(
    config: Config,
    reach: tuple[str, Version, Topic, int],
    planned: list[Planned],
    *,
    again: bool,
) -> None:
    # Spark takes half a second to import, which loading here doesn't need.
    from connectors.loads.spark import prewarm
    from connectors.loads.spark.task_messages import Reach
    from metatide.spark.session import session

    _, _, events, epoch = reach
    with session(config, f"prewarm {events.name}", speculates=False) as spark:
        context = spark.sparkContext
        loaded = set() if again else prewarm.ended_on_spark(context, events, epoch)
        due = [plan for plan in planned if plan.scope not in loaded]
        progress = prewarm.Progress(context)
        with _showing(progress, due):
            prewarm.prewarm(context, Reach(*reach, progress.counts), due)


class _Counts(Protocol):
    """The number of objects loaded so far."""

    @property
    def scopes(self) -> int: ...

    @property
    def partitions(self) -> int: ...

    @property
    def bytes(self) -> int: ...


@contextmanager
def _showing(counts: _Counts, planned: list[Planned]) -> Iterator[None]:
    """Shows progress bars on a terminal, JSON lines if piped."""
    console = PlainConsole()
    if not console.is_terminal:
        beside = {"loads": lambda: counts.scopes, "bytes": lambda: counts.bytes}
        with reporting("partitions", lambda: counts.partitions, beside):
            yield
        return
    columns = (
        TextColumn("{task.description:10}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[written]}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console) as bars, ticking(_LOOK_S) as ticks:
        scopes = bars.add_task("loads", total=len(planned), written="")
        total = sum(plan.partitions for plan in planned)
        partitions = bars.add_task("partitions", total=total, written="")

        @ticks
        def show() -> None:
            bars.update(scopes, completed=counts.scopes)
            written = filesize.decimal(counts.bytes)
            bars.update(partitions, completed=counts.partitions, written=written)

        yield
