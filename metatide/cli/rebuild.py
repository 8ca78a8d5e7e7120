"""`metatide rebuild`: rebuilds stores from the topic."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click
import orjson
from rich.progress import BarColumn, MofNCompleteColumn, TaskProgressColumn, TimeRemainingColumn
from rich.progress import Progress as Bars

from hive.errors import TrimmedTopicError
from metatide.config import Config, Effective, configured
from metatide.process.consoles import PlainConsole
from metatide.process.data_folder import open_data_folder
from metatide.spark.progress import showing_tasks
from metatide.topic import await_ticket, find_topic
from processors.directory import worker_path
from processors.replay.rebuild import rebuild_shards
from processors.replay.replay import Progress
from state.topic import Topic
from state.topic.client import topic_bounds


@click.command()
@configured("data_dir", "kafka.bootstrap_servers", "worker.name", "images.url", "spark.master")
@click.option(
    "--engine",
    type=click.Choice(["replay", "spark"]),
    default="replay",
    show_default=True,
    help="replay builds the stores here, one per core; spark makes images, one per task.",
)
@click.option("--shard", "shards", type=int, multiple=True, metavar="N", help="This one only.")
def command(effective: Effective, engine: str, shards: tuple[int, ...]) -> None:
    """Rebuild the stores of a stopped worker from the topic.

    Each new store is built beside the old one and replaces it when it is complete. With Spark,
    executors build the shards and publish them as images (--images) for workers to start from, and
    the stores of this machine stay as they are. Prints the position of each shard as JSON.

    A topic that was trimmed is refused: only images hold what was deleted.
    """
    config = effective.config
    open_data_folder(config)
    await_ticket(config)
    topic = find_topic(config)
    for shard in shards:
        topic.require_shard(shard)
    wanted = sorted(set(shards)) or list(range(topic.shards))
    bounds = topic_bounds(topic)
    _refuse_trimmed(topic, [shard for shard in wanted if bounds[shard].first > 0])
    began = time.monotonic()
    lines = (_on_spark if engine == "spark" else _here)(config, topic, wanted)
    answer = {"seconds": round(time.monotonic() - began, 3), "shards": lines}
    click.echo(orjson.dumps(answer, option=orjson.OPT_INDENT_2))


def _refuse_trimmed(topic: Topic, trimmed: list[int]) -> None:
    """Nothing but images tells what was deleted; a worse one would take their place."""
    if trimmed:
        raise TrimmedTopicError(
            f"the topic {topic.name} has lost the start of shard {', '.join(map(str, trimmed))}, "
            "because it was trimmed: begin from images (`metatide image restore`, or `metatide "
            "image once` on Spark). If there is none, delete the store and start the worker: it "
            "reads what is left and has the rest loaded"
        )


def _here(config: Config, topic: Topic, shards: list[int]) -> list[dict[str, object]]:
    path = worker_path(config.data_dir, config.worker.name)
    with _bars(len(shards)) as report:
        rebuilt = rebuild_shards(topic, shards, path, config.state.memory_bytes, report)
    return [
        {
            "shard": shard.shard,
            "epoch": shard.position.epoch,
            "event_id": shard.position.applied,
            "offset": shard.position.offset,
        }
        for shard in rebuilt
    ]


def _on_spark(config: Config, topic: Topic, shards: list[int]) -> list[dict[str, object]]:
    # Spark takes half a second to import, which a replay doesn't need.
    from metatide.spark.session import session
    from processors.spark.build import Place, build_images

    url = config.images.require_url("Spark builds them")
    bounds = topic_bounds(topic)
    ends = [(shard, bounds[shard].end) for shard in shards]
    place = Place(url, config.state.memory_bytes)
    with (
        session(config, f"rebuild {topic.name}") as spark,
        showing_tasks(spark.sparkContext, len(shards)),
    ):
        built = build_images(spark.sparkContext, topic, ends, place)
    return [image._asdict() for image in built]


@contextmanager
def _bars(shards: int) -> Iterator[Callable[[Progress], None]]:
    """A progress bar over the records of all shards, with the time left; none without a
    terminal.
    """
    columns = (BarColumn(), TaskProgressColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Bars(*columns, console=PlainConsole(stderr=True), transient=True) as bars:
        if not bars.console.is_terminal:
            bars.stop()
        task = bars.add_task("", total=None)
        by_shard: dict[int, Progress] = {}

        def report(progress: Progress) -> None:
            by_shard[progress.shard] = progress
            done = sum(shard_progress.done for shard_progress in by_shard.values())
            # Shards that haven't begun are assumed to be as long as the others.
            total = (
                sum(shard_progress.end for shard_progress in by_shard.values())
                * shards
                // len(by_shard)
            )
            bars.update(task, completed=done, total=total)

        yield report
