"""`metatide serve`: answers reads without a worker."""

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

import click
import structlog
import uvloop

from hive.errors import InputError
from metatide.advertised import joined
from metatide.config import Config, Effective, configured
from metatide.process import logs
from metatide.process.data_folder import open_data_folder
from metatide.process.metrics import process_metrics
from metatide.process.stop_signals import STOP_SIGNALS
from metatide.stack.machine import MIB, free_port
from metatide.stack.running import completed, database_url
from metatide.topic import await_ticket, find_topic
from metatide.worker.epoch_watch import EpochWatch
from metatide.worker.from_images import ImagedShard, ImagedShards
from metatide.worker.read_settings import open_primary, read_settings, tls
from processors.directory import WorkerDirectory
from processors.freed_memory import limit_freed_memory
from processors.worker.metrics import Metrics
from processors.worker.signals import Signals
from query_api.backend import Backend
from query_api.background_tasks import Background
from query_api.http import Check, ReadServer, create_app
from state.image import Images
from state.records import Scope
from state.records.routing import shards_of
from state.records.signals import LoadRequest
from state.store import MemoryBudget
from state.topic import TopicClient
from state.topic.same_topic import watch_topic

log = structlog.get_logger(__name__)


@click.command()
@configured("data_dir", "kafka.bootstrap_servers", "database.url", "images.url", "http.port")
@click.option("--from-images", is_flag=True, required=True, help="Serve from the newest images.")
@click.option(
    "--every",
    "every_s",
    type=click.FloatRange(min=0.1),
    default=10.0,
    show_default=True,
    metavar="SECONDS",
    help="How often to look for newer images.",
)
def command(effective: Effective, from_images: bool, every_s: float) -> None:
    """Answer reads from the newest images and from the database until Ctrl-C.

    The images can be made on another machine (`metatide image follow`). A newer image replaces the
    one before; reads that have begun finish on the old one. /v1 has the same reads as a worker;
    /readyz says whether there is an image of each shard.
    """
    assert from_images
    config = completed(effective.config)
    if config.images.url is None:
        raise InputError("give the place of the images (--images URL)")
    logging.getLogger().setLevel(logging.CRITICAL)
    logs.configure(config.log)
    limit_freed_memory()
    directory = WorkerDirectory(open_data_folder(config) / "served")
    # The database answers what isn't in an image.
    database_url(config)
    await_ticket(config)
    with directory.owned():
        uvloop.run(_serve(config, directory, every_s))


class _Source:
    """The shards' images, as the server of reads uses them."""

    def __init__(self, imaged: ImagedShards, signals: Signals, watch: EpochWatch) -> None:
        self._imaged = imaged
        self._signals = signals
        self._watch = watch

    @property
    def count(self) -> int:
        return self._imaged.topic.shards

    @property
    def epoch(self) -> int | None:
        return self._watch.epoch

    def shard(self, number: int) -> ImagedShard | None:
        return self._imaged.shards.get(number)

    def owner_url(self, _: int) -> str | None:
        """Returns None, because there are no other workers."""
        return None

    def ask_for_load(self, scope: Scope, floor: int) -> None:
        for number in shards_of(scope, self.count):
            if (shard := self.shard(number)) is not None:
                self._signals.ask_for_reader(
                    number, LoadRequest(shard.position.epoch, scope, floor)
                )
                return


async def _serve(config: Config, directory: WorkerDirectory, every_s: float) -> None:
    primary = open_primary(config)
    assert primary is not None
    assert config.images.url is not None
    topic = await asyncio.to_thread(find_topic, config)
    budget = MemoryBudget(config.state.memory_mib * MIB)
    imaged = ImagedShards(
        topic, Images(config.images.url, budget), directory.path / "images", budget
    )
    imaged.metrics.every_s.set(config.images.every_s)
    signals = Signals(topic, imaged.snapshot, Metrics())
    settings = await asyncio.to_thread(read_settings, config, primary)
    # Images may be of an earlier epoch for as long as nobody makes newer ones.
    watch, watching = EpochWatch(lambda: topic), Background()
    watching.start(watch.run())
    backend = Backend(_Source(imaged, signals, watch), primary)
    app = create_app(
        backend,
        settings,
        checks=[_there(imaged)],
        more_metrics=[primary.fallback.metrics.registry, process_metrics(), imaged.registry],
    )
    port = config.http.port or free_port()
    server = ReadServer(app, config.http.host, port, tls(config))
    log.info("listening", address=joined(config.http.host, port))
    try:
        await imaged.refresh()
        client = TopicClient(topic.servers, topic.name, topic.security)
        work = (_refresh(imaged, every_s), signals.run(), watch_topic(client, topic))
        await _until_told(server, *work)
    finally:
        await watching.close()
        await backend.close()
        imaged.close()
        await asyncio.to_thread(signals.close)
        await primary.close()


async def _until_told(server: ReadServer, *work: Coroutine[Any, Any, None]) -> None:
    """Serves until a signal arrives, or until a background task fails."""
    serving = asyncio.create_task(server.serve())
    others = [asyncio.create_task(task) for task in work]
    loop = asyncio.get_running_loop()
    for number in STOP_SIGNALS:
        loop.add_signal_handler(number, _end, server)
    try:
        await asyncio.wait([serving, *others], return_when=asyncio.FIRST_COMPLETED)
    finally:
        server.end()
        for task in others:
            task.cancel()
        await asyncio.wait([serving, *others])
    for task in others:
        if not task.cancelled():
            task.result()


def _end(server: ReadServer) -> None:
    server.end()


async def _refresh(imaged: ImagedShards, every_s: float) -> None:
    while True:
        await asyncio.sleep(every_s)
        await imaged.refresh()


def _there(imaged: ImagedShards) -> Check:
    def missing() -> str | None:
        return f"no image of {imaged.missing}" if imaged.missing else None

    return Check("images", missing)
