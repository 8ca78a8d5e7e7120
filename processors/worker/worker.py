"""A worker: a member of the group, with its assigned shards."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Final

import structlog
from msgspec import Struct

from hive.errors import (
    InputError,
    MachineError,
    MetatideError,
    NoTopicError,
    TopicError,
)
from processors.consumer.group import Group, Membership
from processors.directory import WorkerDirectory
from processors.live_record import LiveRecord
from processors.lost_records import has_records_of
from processors.replay.bulk_replay import Bulk
from processors.worker.limits import CHECK_EVERY_S, Allowed, Limits
from processors.worker.load_requests import LoadRequests
from processors.worker.metrics import Metrics
from processors.worker.parts import WorkerParts
from processors.worker.shard import Shard
from state.image import Images, Manifest
from state.records import Scope
from state.records.signals import AnySignal, LoadRequest
from state.store import MemoryBudget, StoreSnapshot
from state.store.families import shard_identity
from state.topic import Topic, TopicClient
from state.topic.same_topic import watch_topic
from state.topic.settings import WAITED_S_MAX
from state.topic.waiting import POLL_S, Waiting

if TYPE_CHECKING:
    from state.tracing import Tracing

WATCH_S: Final = 1.0
STUCK_S: Final = 2.0

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
        self.shards: dict[int, Shard] = {}
        self.topic: Topic | None = None
        self.lacked_topic = False
        """Whether there was no topic yet when the worker began."""
        self.began_s = time.time()
        self._client = TopicClient(settings.servers, settings.topic, settings.security)
        self.directory = WorkerDirectory(settings.path)
        self._limits = Limits(settings.path / "shards", settings.allowed)
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._unended: set[asyncio.Task[None]] = set()
        """The tasks of all shards, and of lost ones that are still closing."""
        self._turns: dict[int, asyncio.Lock] = {}
        """For each shard that was ever here, the lock that lets one task at a time have its
        store."""
        self._group: Group | None = None
        self._load_requests: LoadRequests | None = None
        self._parts: WorkerParts | None = None
        self._shared_out = False
        self._ending = False

    @property
    def ready(self) -> bool:
        """Whether the worker has its shards, all follow the topic as far as they can, and it isn't
        about to leave.
        """
        settled = all(shard.settled for shard in self.shards.values())
        return self._shared_out and settled and not self._ending

    @property
    def limits(self) -> Limits:
        return self._limits

    @property
    def load_requests_waiting(self) -> int:
        return 0 if self._load_requests is None else self._load_requests.waiting

    def owners(self) -> dict[int, str]:
        """The address of each shard's owner, this worker included."""
        return {} if self._group is None else dict(self._group.owners())

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
        try:
            made = [
                await self._make_image(number, shard) for number, shard in sorted(shards.items())
            ]
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
                assigned=self._assign,
                unsettled=self._unsettle,
            )
            budget = MemoryBudget(settings.memory_bytes)
            url = settings.images_url
            self._parts = WorkerParts(
                topic=topic,
                directory=self.directory,
                budget=budget,
                images=None if url is None else Images(url, budget),
                bulk=bulk,
                limits=self._limits,
                load_requests=requests,
                metrics=self.metrics,
                follow=group.follow,
                tracing=self.tracing,
            )
            try:
                await self._limits.check()
                async with asyncio.TaskGroup() as tasks:
                    for work in (
                        group.run(),
                        requests.run(),
                        self._watch_limits(),
                        self._flush_stores(),
                        self._watch_arrival(),
                        watch_topic(self._client, topic),
                        self._keep_making_images(),
                        self._hold_shards(),
                    ):
                        tasks.create_task(work)
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

    def _assign(self, assigned: frozenset[int]) -> None:
        if self._ending:
            return
        self._shared_out = True
        lost, gained = sorted(self.shards.keys() - assigned), sorted(assigned - self.shards.keys())
        log.info("shards were shared out", gained=gained, lost=lost, shards=len(assigned))
        for number in lost:
            self._drop(number)
        for number in gained:
            assert self._parts is not None
            shard = self.shards[number] = Shard(number, self._parts)
            if self.settings.images_url is not None:
                self.metrics.images.made_s.labels(number).set(time.time())
            task = self._tasks[number] = asyncio.create_task(self._run(number, shard))
            self._unended.add(task)
            task.add_done_callback(self._unended.discard)
        for number in assigned:
            self.shards[number].unfollow()

    def _drop(self, number: int) -> None:
        del self.shards[number]
        assert self._load_requests is not None
        self._load_requests.forget(number)
        self.metrics.forget(number)
        self._tasks.pop(number).cancel()

    async def _run(self, number: int, shard: Shard) -> None:
        """Runs a shard once whoever had it before has closed its store. Many may be waiting, each
        of which may be cancelled before its turn."""
        async with self._turns.setdefault(number, asyncio.Lock()):
            await shard.run()

    async def _hold_shards(self) -> None:
        """Keeps shards open until it is cancelled; they close while the worker leaves the group,
        which may take longer than closing."""
        try:
            await asyncio.Event().wait()
        finally:
            self._ending = True
            for task in self._tasks.values():
                task.cancel()
            # A lost shard was cancelled once: twice, it would not wait for its threads.
            if self._unended:
                await asyncio.wait(self._unended)
            self.shards.clear()

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

    async def _keep_making_images(self) -> None:
        """Makes images one after the other: there is time, and each takes room on the disk."""
        while self.settings.images_url is not None:
            await asyncio.sleep(self.settings.images_every_s)
            for number, shard in dict(self.shards).items():
                if not shard.live:
                    continue
                try:
                    await self._make_image(number, shard)
                except (OSError, MetatideError) as error:
                    log.error("an image wasn't made", shard=number, error=str(error))

    async def _make_image(self, number: int, shard: Shard) -> Manifest | None:
        """Makes an image of a shard; None if the shard was lost meanwhile."""
        parts, keep = self._parts, self.settings.images_keep
        assert parts is not None
        manifest = await shard.make_image()
        if manifest is not None and self.shards.get(number) is shard:
            self.metrics.images.made_s.labels(number).set(manifest.made_s)
            event_id = manifest.position.applied
            log.info("an image was made", shard=number, event_id=event_id, image=manifest.name)
        try:
            stop = Event()
            await parts.bulk.restore(partial(_prune, parts, number, keep, stop), stop)
        except (OSError, MetatideError) as error:
            log.warning("old images weren't pruned", shard=number, error=str(error))
        return manifest

    async def _watch_arrival(self) -> None:
        """Moves the live consumer to where it should be after it has brought nothing for a while.

        The consumer may lose what it has fetched if it is moved in the middle of a fetch. And the
        topic may have lost what the store holds, if a broker leads that lacked it: then the shard
        is built again, or it would pass over what is written in the place of that.
        """
        since: dict[int, tuple[int, float]] = {}
        while True:
            await asyncio.sleep(WATCH_S)
            shards = dict(self.shards)
            try:
                ends = await asyncio.to_thread(self._client.ends, shards)
            except TopicError:
                continue
            now = time.monotonic()
            for number, shard in shards.items():
                if self.shards.get(number) is not shard:
                    # It moved away meanwhile.
                    continue
                shard.end = max(ends[number], shard.position.offset)
                lag = ends[number] - shard.position.offset
                self.metrics.lag_records.labels(number).set(max(0, lag))
                awaited = shard.awaits
                if awaited is None or not lag:
                    since.pop(number, None)
                    continue
                offset, began = since.setdefault(number, (awaited, now))
                if offset != awaited:
                    since[number] = awaited, now
                elif now - began >= STUCK_S:
                    del since[number]
                    if lag > 0:
                        await shard.refollow()
                    else:
                        shard.unfollow()


def _prune(parts: WorkerParts, shard: int, keep: int, stop: Event) -> None:
    """Deletes old images of a shard, in a thread that `Bulk` has started."""
    assert parts.images is not None
    fits = partial(has_records_of, parts.bulk.reader(), shard)
    parts.images.prune(shard_identity(parts.topic, shard), keep, fits=fits, stop=stop)
