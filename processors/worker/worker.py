"""A worker: a member of the group, with its assigned shards."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import structlog
from msgspec import Struct

from hive.errors import (
    InputError,
    MachineError,
    NoTopicError,
    TopicError,
)
from processors.consumer.group import Group, Membership
from processors.directory import WorkerDirectory
from processors.live_record import LiveRecord
from processors.replay.bulk_replay import Bulk
from processors.worker.arrival_watch import ArrivalWatch
from processors.worker.assigned_shards import AssignedShards
from processors.worker.image_maker import ImageMaker
from processors.worker.limits import CHECK_EVERY_S, Allowed, Limits
from processors.worker.load_requests import LoadRequests
from processors.worker.metrics import Metrics
from processors.worker.parts import WorkerParts
from processors.worker.shard import Shard
from state.image import Images, Manifest
from state.records import Scope
from state.records.signals import AnySignal, LoadRequest
from state.store import MemoryBudget, StoreSnapshot
from state.topic import Topic, TopicClient
from state.topic.same_topic import watch_topic
from state.topic.settings import WAITED_S_MAX
from state.topic.waiting import POLL_S, Waiting

if TYPE_CHECKING:
    from state.tracing import Tracing

log = structlog.get_logger(__name__)


class WorkerSettings(Struct, frozen=True, kw_only=True):
    """The settings of a worker."""

    servers: str
    topic: str
    path: Path
    """The directory of this worker alone."""
    security: Mapping[str, str] = {}
    """TLS and SASL in librdkafka's words."""
    name: str = "worker-1"
    group: str
    address: str = "127.0.0.1:0"
    session_timeout_s: int = 10
    flush_s: float = 15
    memory_bytes: int = 256 << 20
    allowed: Allowed = Allowed()
    images_url: str | None = None
    images_every_s: float = 3600
    images_keep: int = 3


class Worker:
    """Runs the shards of one member of the group.

    1. Opens assigned shards, closes lost ones, and keeps the rest open through a rebalance.
    2. Flushes stores, watches the limits, and checks that the topic's records arrive.
    3. Serves its shards to readers. A shard that it no longer owns is a replica that falls behind.
    """

    def __init__(self, settings: WorkerSettings, tracing: "Tracing | None" = None) -> None:
        self.settings = settings
        self.tracing = tracing
        self.metrics = Metrics(settings.group)
        if settings.images_url is not None:
            self.metrics.images.every_s.set(settings.images_every_s)
        self._assigned = AssignedShards(self._new_shard, self._lose_shard)
        self.shards = self._assigned.by_number
        self.topic: Topic | None = None
        self.lacked_topic = False
        """Whether there was no topic yet when the worker began."""
        self.began_s = time.monotonic()
        self._client = TopicClient(settings.servers, settings.topic, settings.security)
        self.directory = WorkerDirectory(settings.path)
        self._limits = Limits(settings.path / "shards", settings.allowed)
        self._group: Group | None = None
        self._load_requests: LoadRequests | None = None
        self._parts: WorkerParts | None = None
        self._image_maker: ImageMaker | None = None

    @property
    def ready(self) -> bool:
        """Whether the worker has its shards, all follow the topic as far as they can, and it isn't
        about to leave.
        """
        settled = all(shard.settled for shard in self.shards.values())
        return self._assigned.were_assigned and settled and not self._assigned.are_closing

    @property
    def limits(self) -> Limits:
        return self._limits

    @property
    def load_requests_waiting(self) -> int:
        return 0 if self._load_requests is None else self._load_requests.waiting

    def owner(self, shard: int) -> str | None:
        """The address of a shard's owner, which may be this worker; None if it isn't known."""
        return None if self._group is None else self._group.owner(shard)

    def snapshot(self, shard: int) -> StoreSnapshot | None:
        """The present state of a shard; None when this worker doesn't have it."""
        held = self.shards.get(shard)
        return None if held is None else held.snapshot()

    def ask(self, shard: int, scope: Scope, floor: int) -> None:
        """Asks for a load of a scope that is cold for a reader."""
        own = self.shards.get(shard)
        if own is not None:
            assert self._load_requests is not None
            self._load_requests.ask_for_reader(shard, LoadRequest(own.position.epoch, scope, floor))

    async def order(self, signal: AnySignal) -> None:
        """Sends an operator's order to the connectors; returns when the signals topic has it."""
        if self._load_requests is None:
            raise TopicError(f"the topic {self.settings.topic} isn't there yet: start a connector")
        await self._load_requests.order(signal)

    async def make_images(self, wanted: int | None = None) -> list[Manifest]:
        """Makes images of all live shards, or of one, now."""
        if self.settings.images_url is None:
            raise InputError("this worker has no place for images: set images.url")
        shards = {number: shard for number, shard in self.shards.items() if shard.live}
        if wanted is not None:
            shards = {number: shard for number, shard in shards.items() if number == wanted}
        if not shards:
            raise MachineError("no such shard is live on this worker now: see metatide status")
        maker = self._image_maker
        assert maker is not None
        try:
            made = [await maker.make(number, shard) for number, shard in sorted(shards.items())]
        except OSError as error:
            raise MachineError(f"the image wasn't made: {error}") from error
        return [manifest for manifest in made if manifest is not None]

    async def run(self) -> None:
        """Runs until it is cancelled, then flushes and closes everything."""
        topic = self.topic = await self._find_topic()
        settings = self.settings
        self.metrics.topic_shards.set(topic.shards)
        with self.directory.owned():
            bulk = Bulk(topic)
            requests = LoadRequests(topic, self.snapshot, self.metrics)
            self._load_requests = requests
            membership = Membership(
                settings.group,
                settings.name,
                settings.address,
                settings.session_timeout_s,
                settings.path / "faust",
            )
            group = self._group = Group(
                topic,
                membership,
                offer=self._offer,
                assigned=self._assigned.assign,
                unsettled=self._unsettle,
            )
            budget = MemoryBudget(settings.memory_bytes)
            url = settings.images_url
            images = None if url is None else Images(url, budget)
            self._parts = WorkerParts(
                topic=topic,
                directory=self.directory,
                budget=budget,
                images=images,
                bulk=bulk,
                limits=self._limits,
                load_requests=requests,
                metrics=self.metrics,
                follow=group.follow,
                tracing=self.tracing,
            )
            arrival = ArrivalWatch(self._client, self.shards, self.metrics)
            if images is not None:
                self._image_maker = ImageMaker(
                    topic, images, bulk, self.shards, self.metrics, keep=settings.images_keep
                )
            try:
                await self._limits.check()
                async with asyncio.TaskGroup() as tasks:
                    for work in (
                        group.run(),
                        requests.run(),
                        self._watch_limits(),
                        self._flush_stores(),
                        arrival.run(),
                        watch_topic(self._client, topic),
                        self._assigned.hold(),
                    ):
                        tasks.create_task(work)
                    if self._image_maker is not None:
                        tasks.create_task(self._image_maker.run(settings.images_every_s))
            finally:
                await asyncio.to_thread(bulk.close)
                await asyncio.to_thread(requests.close)

    async def _find_topic(self) -> Topic:
        """Waits for the topic: a connector creates it, and may start later."""
        waiting = Waiting(log, "the topic")
        while True:
            try:
                return await asyncio.to_thread(self._client.describe, WAITED_S_MAX)
            except TopicError as error:
                self.lacked_topic = isinstance(error, NoTopicError)
                waiting.because(error)
                await asyncio.sleep(POLL_S)

    def _offer(self, shard: int, records: Sequence[LiveRecord]) -> None:
        held = self.shards.get(shard)
        if held is not None:
            held.offer(records)

    def _unsettle(self) -> None:
        """Makes shards read the topic by themselves until the group is settled."""
        self.metrics.rebalances.inc()
        for shard in self.shards.values():
            shard.unfollow()

    def _new_shard(self, number: int) -> Shard:
        assert self._parts is not None
        shard = Shard(number, self._parts)
        if self.settings.images_url is not None:
            self.metrics.images.made_s.labels(number).set(time.time())
        return shard

    def _lose_shard(self, number: int) -> None:
        assert self._load_requests is not None
        self._load_requests.forget(number)
        self.metrics.forget(number)

    async def _watch_limits(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            due = loop.time() + CHECK_EVERY_S
            await asyncio.sleep(CHECK_EVERY_S)
            self.metrics.loop_lag_s.observe(max(0.0, loop.time() - due))
            await self._limits.check()
            self._measure()
            if self._limits.fault is not None:
                for shard in self.shards.values():
                    shard.unfollow()
                if self._limits.lacks_disk:
                    await self._assigned.delete_others(self.directory)

    def _measure(self) -> None:
        metrics, limits = self.metrics, self._limits
        metrics.disk_bytes.set(limits.disk_bytes)
        metrics.disk_free_bytes.set(limits.disk_free_bytes)
        metrics.memory_bytes.set(limits.memory_bytes)
        if self._parts is not None:
            metrics.store_memory_bytes.set(self._parts.budget.bytes)
        metrics.over_limit.set(limits.fault is not None)
        metrics.load_requests_waiting.set(self.load_requests_waiting)
        metrics.load_requests_oldest_s.set(
            0.0 if self._load_requests is None else self._load_requests.oldest_age_s
        )
        metrics.are_in(shard.phase for shard in self.shards.values())
        metrics.stop_at(shard.unreadable for shard in self.shards.values())

    async def _flush_stores(self) -> None:
        while True:
            await asyncio.sleep(self.settings.flush_s)
            for shard in list(self.shards.values()):
                await shard.flush()
