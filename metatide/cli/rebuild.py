"""`metatide rebuild`: stores made anew from the topic."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click
import orjson
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TaskProgressColumn, TimeRemainingColumn
from rich.progress import Progress as Bars

from hive.errors import InputError
from metatide.config import Effective, configured
from metatide.topic import find_topic
from processors.directory import worker_path
from processors.rebuild import rebuild_shards
from processors.replay import Progress

MIB = 1 << 20


@click.command()
@configured("data_dir", "kafka.bootstrap_servers", "worker.name")
@click.option(
    "--engine",
    type=click.Choice(["replay"]),
    default="replay",
    show_default=True,
    help="replay folds the topic from its beginning, one shard a core.",
)
@click.option("--shard", "shards", type=int, multiple=True, metavar="N", help="This one only.")
def command(effective: Effective, engine: str, shards: tuple[int, ...]) -> None:
    """Build the stores of a stopped worker anew from the topic.

    Each new store is made beside the old one and takes its place when it is complete. Prints as
    JSON how far each shard is.
    """
    assert engine == "replay"
    config = effective.config
    topic = find_topic(config)
    for shard in shards:
        if not 0 <= shard < topic.partitions:
            raise InputError(
                f"there is no shard {shard}: topic {topic.name} has 0 to {topic.partitions - 1}"
            )
    wanted = sorted(set(shards)) or list(range(topic.partitions))
    path = worker_path(config.data_dir, config.worker.name)
    began = time.monotonic()
    with _bars(len(wanted)) as report:
        found = rebuild_shards(topic, wanted, path, config.state.memory_mib * MIB, report)
    lines = [
        {
            "shard": one.shard,
            "epoch": one.position.epoch,
            "event_id": one.position.applied,
            "offset": one.position.offset,
        }
        for one in found
    ]
    answer = {"seconds": round(time.monotonic() - began, 3), "shards": lines}
    click.echo(orjson.dumps(answer, option=orjson.OPT_INDENT_2))


@contextmanager
def _bars(shards: int) -> Iterator[Callable[[Progress], None]]:
    """A bar over the records of all shards, with the time that is left; none without a terminal."""
    columns = (BarColumn(), TaskProgressColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Bars(*columns, console=Console(stderr=True), transient=True) as bars:
        if not bars.console.is_terminal:
            bars.stop()
        task = bars.add_task("", total=None)
        known: dict[int, Progress] = {}

        def report(progress: Progress) -> None:
            known[progress.shard] = progress
            done = sum(one.done for one in known.values())
            # Those that wait for their turn are taken to be as long as the others.
            total = sum(one.end for one in known.values()) * shards // len(known)
            bars.update(task, completed=done, total=total)

        yield report
