"""`metatide prewarm`: everything in the metastore's database, loaded once."""

import gc
import time
from collections.abc import Iterator
from contextlib import contextmanager

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from connectors import tails, topic
from connectors.kafka import Topic
from connectors.loads.ended import ended_scopes
from connectors.loads.lists import Lists
from connectors.loads.loader import WORKERS, Loader
from connectors.loads.plan import Planned
from hive.errors import InputError, MachineError
from metatide.config import Effective, configured
from metatide.demo.report import reporting
from metatide.doctor import find_target
from metatide.kafka import events_topic
from metatide.stack.database import make_engine

_LOOK_S = 0.05
_COLLECT_AFTER = 100_000
"""Rows come and go by the thousand and none is in a circle: to look for those costs a fifth."""


@click.command()
@configured("data_dir", "kafka.bootstrap_servers", "database.url")
@click.option("--tables", multiple=True, metavar="PATTERN", help="Load these only: db.table, *, |.")
@click.option("--except", "but", multiple=True, metavar="PATTERN", help="Don't load these.")
@click.option(
    "--threads",
    type=click.IntRange(1, 32),
    default=WORKERS,
    show_default=True,
    help="How many read at a time, each on a connection of its own.",
)
@click.option("--again", is_flag=True, help="Load what the topic holds already, too.")
def command(
    effective: Effective,
    tables: tuple[str, ...],
    but: tuple[str, ...],
    threads: int,
    again: bool,
) -> None:
    """Load the metastore's tables into the topic, before anybody asks for them.

    It may be interrupted: what was loaded isn't loaded again. Tables become warm when the
    connector has published the events up to the moment at which they were read.
    """
    events = events_topic(effective.config)
    url = find_target(effective.config).database_url
    if url is None:
        raise InputError("no database: start `metatide up`, or give one with --database URL")
    topic.create(events)
    found = tails.find(events)
    if found.behind:
        raise MachineError(
            f"an epoch has begun in some shards of {events.name} only: run `metatide connect`, "
            "which ends that, then prewarm"
        )
    loader = Loader(make_engine(url), events, lists=Lists(tables, but), workers=threads)
    held = set() if again else ended_scopes(events, found.epoch)
    planned = loader.plan(held.__contains__)
    with _showing(loader, planned):
        _load(loader, events, found.epoch)


def _load(loader: Loader, events: Topic, epoch: int) -> None:
    gc.set_threshold(_COLLECT_AFTER)
    loader.start(epoch, asks=False)
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


@contextmanager
def _showing(loader: Loader, planned: list[Planned]) -> Iterator[None]:
    """Bars on a terminal; JSON lines when piped."""
    console = Console()
    if not console.is_terminal:
        with reporting("partitions", lambda: loader.progress.partitions):
            yield
        return
    columns = (
        TextColumn("{task.description:10}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console) as bars:
        scopes = bars.add_task("loads", total=len(planned))
        partitions = bars.add_task("partitions", total=sum(one.partitions for one in planned))

        def show() -> None:
            bars.update(scopes, completed=loader.progress.scopes)
            bars.update(partitions, completed=loader.progress.partitions)

        loader.progress.listen(show)
        yield
        show()
