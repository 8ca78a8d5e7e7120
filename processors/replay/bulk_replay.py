"""Catches up beside the event loop: threads replay stretches of the topic, one at a time."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Event, Lock, local
from typing import Final, TypeVar

from hive.errors import (
    OtherStoreError,
    StoppedError,
    TrimmedTopicError,
    UnreadableRecordError,
)
from hive.units import MIB
from processors.freed_memory import give_back_freed_memory
from processors.lost_records import has_records_of
from processors.replay.replay import Progress, replay
from processors.replay.skips import Skips
from processors.replay.turns import Turn
from state.store import Store
from state.topic import Topic, TopicReader
from state.topic.client import Bounds

T = TypeVar("T")

THREADS: Final = 2
"""One of them folds, while the other waits for brokers or for its turn."""
# After this many records, or this time, a shard that is far behind yields to the others. Records of
# loads are large: so many of them may take long.
STRETCH_RECORDS: Final = 50_000
STRETCH_S: Final = 1.0
UNFLUSHED_BYTES_MAX: Final = 1 * MIB
"""What a store may keep in memory after a stretch. All stores share the memory for that: what those
at rest keep, the one that is folded lacks. It would write many small files, and RocksDB would merge
the whole store with each few of them."""


class Bulk:
    """A few threads, each with its own reader of the topic."""

    def __init__(self, topic: Topic) -> None:
        self._topic = topic
        self._pool = ThreadPoolExecutor(THREADS, "bulk")
        # Those wait for a storage, and aren't ended after a while: they would starve the others.
        self._restores = ThreadPoolExecutor(THREADS, "restore")
        self._own = local()
        self._folding = Lock()
        self._readers: list[TopicReader] = []
        self._stops: list[Event] = []
        """One for each call that is under way."""

    async def catch_up(
        self,
        store: Store,
        skips: Skips,
        stop: Event,
        report: Callable[[], None],
        has_newer_image: Callable[[int, int], bool] = lambda offset, end: False,
    ) -> bool:
        """Folds a stretch into a store; returns whether it reached the end of the topic.

        `report` is called in the event loop after each batch; `has_newer_image` tells whether the
        shard has an image beyond an offset, up to the end. A store that lacks deleted records gives
        way to it: nothing else tells it of the orders among them.
        """
        loop = asyncio.get_running_loop()

        def fold(bounds: Bounds, *, whole: bool) -> bool:
            # It would fetch more while it waits for its turn.
            self.reader().rest()
            start = max(store.position.offset, bounds.first)
            end = min(bounds.end, start + STRETCH_RECORDS)
            with Turn(self._folding, start) as turn:

                def progressed(progress: Progress) -> None:
                    turn.reach(progress.done)
                    loop.call_soon_threadsafe(report)

                reached = replay(
                    store,
                    self.reader(),
                    end=end,
                    stop=stop,
                    report=progressed,
                    skips=skips,
                    time_s_max=STRETCH_S,
                    whole=whole,
                )
                at_end = reached.offset >= bounds.end
                if not at_end:
                    # In a stretch the heaps grow by about 100 MB that are free at its end, in
                    # holes. They go back before another one begins.
                    self.reader().rest()
                    give_back_freed_memory()
            # Another thread folds meanwhile.
            if store.unflushed_bytes > UNFLUSHED_BYTES_MAX:
                store.flush()
            # It is worth its cost only if there is more than a stretch.
            store.defer_compactions(deferred=not at_end)
            return at_end

        def work() -> bool | Bounds:
            try:
                return fold(self._fitting_bounds(store), whole=True)
            except TrimmedTopicError:
                return self.reader().bounds(store.identity.shard)

        outcome = await self.run(work, stop)
        if isinstance(outcome, bool):
            return outcome
        bounds, offset = outcome, store.position.offset
        if await self.restore(lambda: has_newer_image(offset, bounds.end), stop):
            raise OtherStoreError(
                f"the store in {store.path} lacks the records from offset {offset} to "
                f"{bounds.first}, which were deleted: an image has them. Build the shard again"
            )
        return await self.run(lambda: fold(bounds, whole=False), stop)

    def _fitting_bounds(self, store: Store) -> Bounds:
        """The bounds of a topic that has what led to the store's position; refuses another."""
        reader, shard, position = self.reader(), store.identity.shard, store.position
        bounds = reader.bounds(shard)
        if position.offset > bounds.end:
            raise OtherStoreError(
                f"the store in {store.path} is ahead of its topic, which ends at offset "
                f"{bounds.end} and not at {position.offset}: it has lost records. Build the shard "
                "again"
            )
        if not has_records_of(reader, shard, position):
            raise OtherStoreError(
                f"the store in {store.path} has records before offset {position.offset} that its "
                "topic has lost, and others stand there now. Build the shard again"
            )
        return bounds

    async def is_skipped(self, error: UnreadableRecordError, skips: Skips, stop: Event) -> bool:
        """Whether the topic holds an order by now to skip this record."""
        return await self.run(
            lambda: skips.search(self.reader(), error.shard, error.offset, stop), stop
        )

    async def run(self, work: Callable[[], T], stop: Event) -> T:
        """Runs a function in a thread. When the caller is cancelled, the thread is stopped and
        awaited, unless no thread has begun with it."""
        return await self._run_in(self._pool, work, stop)

    async def restore(self, work: Callable[[], T], stop: Event) -> T:
        """As `run`, for what fetches an image."""
        return await self._run_in(self._restores, work, stop)

    async def _run_in(self, pool: ThreadPoolExecutor, work: Callable[[], T], stop: Event) -> T:
        has_begun = False

        def work_and_rest() -> T:
            nonlocal has_begun
            has_begun = True
            if stop.is_set():
                raise StoppedError("nobody waits for this work any more")
            reader = self.reader()
            reader.stop = stop
            try:
                return work()
            finally:
                reader.rest()

        loop = asyncio.get_running_loop()
        future = loop.run_in_executor(pool, work_and_rest)
        self._stops.append(stop)
        try:
            # asyncio.shield would log what the stop raises, from Python 3.14 on.
            await asyncio.wait([future])
            return future.result()
        except asyncio.CancelledError:
            stop.set()
            if has_begun:
                await asyncio.wait([future])
                # What it raised comes of the stop; asyncio would print what nobody looks at.
                future.exception()
            else:
                # A thread that takes it now sees the stop first.
                future.cancel()
            raise
        finally:
            self._stops.remove(stop)
            if not self._stops:
                # While other work is under way, it would take the memory again at once.
                loop.run_in_executor(None, give_back_freed_memory)

    def close(self) -> None:
        """Ends what is under way, and waits for the threads."""
        for stop in tuple(self._stops):
            stop.set()
        self._pool.shutdown()
        self._restores.shutdown()
        for reader in self._readers:
            reader.close()

    def reader(self) -> TopicReader:
        """The reader of the thread that calls this, which `run` has started."""
        reader: TopicReader | None = getattr(self._own, "reader", None)
        if reader is None:
            reader = self._own.reader = TopicReader(self._topic)
            self._readers.append(reader)
        return reader
