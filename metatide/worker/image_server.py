"""A server that answers reads from images and from the database, and all that it needs."""

import asyncio
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import structlog

from metatide.advertised import joined
from metatide.config import Config
from metatide.process.metrics import process_metrics
from metatide.process.stop_signals import STOP_SIGNALS
from metatide.stack.machine import free_port, require_port
from metatide.topic import find_topic
from metatide.worker.epoch_watch import EpochWatch
from metatide.worker.from_images import ImagedShard, ImagedShards
from metatide.worker.read_settings import open_primary, read_settings, tls
from processors.worker.load_requests import LoadRequests
from processors.worker.metrics import Metrics
from query_api.backend import Backend
from query_api.background_tasks import Background
from query_api.http import Check, ReadServer, create_app
from state.image import Images
from state.records import Scope
from state.records.signals import LoadRequest
from state.store import MemoryBudget
from state.topic import TopicClient
from state.topic.same_topic import watch_topic

log = structlog.get_logger(__name__)


class _Source:
    """The shards' images, as the server of reads uses them."""

    def __init__(
        self, imaged: ImagedShards, load_requests: LoadRequests, watch: EpochWatch
    ) -> None:
        self._imaged = imaged
        self._load_requests = load_requests
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

    def ask_for_load(self, shard: int, scope: Scope, floor: int) -> None:
        imaged = self.shard(shard)
        if imaged is not None:
            request = LoadRequest(imaged.position.epoch, scope, floor)
            self._load_requests.ask_for_reader(shard, request)


async def serve_images(config: Config, folder: Path, every_s: float) -> None:
    """Serves until a signal arrives. The images are copied to this folder, and each so many seconds
    newer ones are looked for.
    """
    port = config.http.port or free_port()
    require_port(port, "http.port", config.http.host)
    primary = open_primary(config)
    assert primary is not None
    topic = await asyncio.to_thread(find_topic, config)
    budget = MemoryBudget(config.state.memory_bytes)
    imaged = ImagedShards(topic, Images(config.images.require_url(), budget), folder, budget)
    imaged.metrics.every_s.set(config.images.every_s)
    load_requests = LoadRequests(topic, imaged.snapshot, Metrics())
    settings = await asyncio.to_thread(read_settings, config, primary)
    # Images may be of an earlier epoch for as long as nobody makes newer ones.
    watch, watching = EpochWatch(lambda: topic), Background()
    watching.start(watch.run())
    backend = Backend(_Source(imaged, load_requests, watch), primary)
    app = create_app(
        backend,
        settings,
        checks=[_complete(imaged)],
        more_metrics=[primary.fallback.metrics.registry, process_metrics(), imaged.registry],
    )
    server = ReadServer(app, config.http.host, port, tls(config))
    log.info("listening", address=joined(config.http.host, port))
    try:
        await imaged.refresh()
        client = TopicClient(topic.servers, topic.name, topic.security)
        work = (_refresh(imaged, every_s), load_requests.run(), watch_topic(client, topic))
        await _serve_until_stopped(server, *work)
    finally:
        await watching.close()
        await backend.close()
        imaged.close()
        await asyncio.to_thread(load_requests.close)
        await primary.close()


async def _serve_until_stopped(server: ReadServer, *work: Coroutine[Any, Any, None]) -> None:
    """Serves until a signal arrives, or until a background task fails."""
    serving = asyncio.create_task(server.serve())
    others = [asyncio.create_task(task) for task in work]
    loop = asyncio.get_running_loop()
    for number in STOP_SIGNALS:
        loop.add_signal_handler(number, server.end)
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


async def _refresh(imaged: ImagedShards, every_s: float) -> None:
    while True:
        await asyncio.sleep(every_s)
        await imaged.refresh()


def _complete(imaged: ImagedShards) -> Check:
    """Whether there is an image of each shard."""

    def missing() -> str | None:
        return f"no image of {imaged.missing}" if imaged.missing else None

    return Check("images", missing)
