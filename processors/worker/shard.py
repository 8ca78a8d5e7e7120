"""One shard of a worker: its store, the fold of its live records, and its reads."""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Sequence
from threading import Event
from traceback import clear_frames
from typing import Final, TypeVar

import structlog

from hive.errors import (
    ClosedStoreError,
    ColdShardError,
    MetatideError,
    OtherStoreError,
    RecordFormatError,
    TopicError,
    UnreadableRecordError,
)
from processors.applier import Applier
from processors.back_off import BackOff
from processors.live_record import LiveRecord
from processors.replay.skips import Skips
from processors.worker.parts import WorkerParts
from processors.worker.phases import Phase
from processors.worker.shard_images import ShardImages
from processors.worker.waiters import Waiters
from state.image import Manifest
from state.store import Commits, Store, StorePosition, StoreSnapshot, set_aside
from state.store.families import SHARD_FAMILIES, shard_identity

SLICE_S: Final = 0.005
"""So long live records are folded before other tasks of the event loop get a turn."""
ARRIVED_RECORDS_MAX: Final = 20_000
ARRIVED_BYTES_MAX: Final = 32 << 20
BACK_OFF_MAX_S: Final = 30.0
RETRY_S: Final = 0.1
SKIP_LOOK_S: Final = 0.5
"""How often a shard that has stopped looks for an order to skip the record."""
UNFLUSHED_RECORDS_MAX: Final = 16
"""So many records that are no events don't make a flush due: while nothing happens, one comes a
minute, and a flush costs ten times as much as folding it again after a crash."""

T = TypeVar("T")

log = structlog.get_logger(__name__)


class Shard:
    """Owns a store from opening to closing.

    1. Catches up in bulk, then takes the live consumer's records from exactly there on.
    2. Refuses records that don't follow on the last one, and catches up again from the topic.
    3. Folds in slices, so that other tasks of the event loop needn't wait.
    4. Waits before a record that can't be read, and goes on being read, until an order skips it.
    5. After a fault it closes the store, waits, and starts over from what is stored.
    6. Serves nothing from a store before it has reached the end of the topic once: a pause, lists
       or a refreshed table may be among what it lacks.
    """

    def __init__(self, number: int, parts: WorkerParts) -> None:
        self.number = number
        self.phase = Phase.OPENING
        self.fault: str | None = None
        self.unreadable: UnreadableRecordError | None = None
        """The record before which the shard waits."""
        self.end = 0
        """The end offset of the topic when it was last seen."""
        self.lag_s = 0.0
        """The seconds until the oldest record of the last live batch became readable."""
        self.image_made_s: float | None = None
        """When the last image was made, of those that were made or restored here."""
        self._parts = parts
        self._store: Store | None = None
        self._lifecycle = asyncio.Lock()
        self._waiters = Waiters()
        self._skips = Skips()
        self._arrived: deque[LiveRecord] = deque()
        """Live records that wait to be folded."""
        self._arrived_bytes = 0
        self._tail: int | None = None
        """The offset behind the last of these; None while the live consumer isn't followed."""
        self._seeking = False
        """Whether the live consumer is being moved to the tail."""
        self._wake = asyncio.Event()
        """Set when records have arrived, aren't followed any more, or a flush has failed."""
        self._stop = Event()
        """Set when what runs in threads for this shard is to end."""
        self._images = ShardImages(parts, number, self._stop)
        self._epoch = 0
        self._flushed = StorePosition()
        """The position that was durable last."""
        self._flush_fault: MetatideError | None = None
        """Why a flush failed; the task that folds raises it."""
        self._has_orders = False
        """Whether the open store has all orders that the topic had since it was opened: no event
        tells that a read needs them."""

    @property
    def position(self) -> StorePosition:
        """The position that reads see; zeros while there is no store."""
        return StorePosition() if self._store is None else self._store.position

    @property
    def commits(self) -> Commits | None:
        """The commits of the open store; None while nothing may be read."""
        return self._store.commits if self._store is not None and self._has_orders else None

    @property
    def live(self) -> bool:
        return self.phase is Phase.LIVE

    @property
    def settled(self) -> bool:
        """Whether the shard is as new as it can be for now."""
        return self.phase in (Phase.LIVE, Phase.STOPPED)

    def snapshot(self) -> StoreSnapshot | None:
        """The present state with its position, for one request; None while nothing may be read."""
        try:
            return self._store.snapshot() if self._store is not None and self._has_orders else None
        except (ColdShardError, ClosedStoreError):
            return None

    async def complete_up_to(self, epoch: int, event: int, timeout_s: float) -> bool:
        """Waits until every event up to this one is applied; False when that takes too long."""
        return await self._waiters.complete_up_to(self.position, epoch, event, timeout_s)

    def offer(self, records: Sequence[LiveRecord]) -> None:
        """Takes the next live records."""
        for record in records:
            if self._tail is None:
                break
            if record.offset < self._tail:
                continue
            if record.offset > self._tail:
                # Until the consumer has moved to the new offset, it brings records from elsewhere.
                if not self._seeking:
                    self.unfollow()
                break
            if self._is_overfull:
                self.unfollow()
                break
            self._arrived.append(record)
            self._arrived_bytes += len(record.value)
            self._tail += 1
        self._wake.set()

    @property
    def _is_overfull(self) -> bool:
        return len(self._arrived) >= ARRIVED_RECORDS_MAX or self._arrived_bytes >= ARRIVED_BYTES_MAX

    def unfollow(self) -> None:
        """Stops trusting the live consumer: the next records are read from the topic."""
        self._tail = None
        self._wake.set()

    @property
    def awaits(self) -> int | None:
        """The offset that the live consumer should bring next; None while it isn't followed."""
        return self._tail if self.live and not self._arrived else None

    async def run(self) -> None:
        """Runs until it is cancelled, then closes the store."""
        back_off = BackOff(max_s=BACK_OFF_MAX_S, proven_s=BACK_OFF_MAX_S)
        while True:
            began = time.monotonic()
            try:
                await self._open()
                await self._serve(began)
            except (ColdShardError, OtherStoreError) as error:
                await self._close()
                self._note_fault(error)
                await self._set_aside()
            except Exception as error:
                await self._close()
                self._note_fault(error)
            finally:
                await self._close()
            await back_off.wait(time.monotonic() - began)

    async def flush(self) -> None:
        """Makes all events durable, and all but the last few of the other records. A store that
        fails is opened again, as after any fault. One of which an image is being made waits for
        the next turn: the others would wait for its storage, too."""
        if self._lifecycle.locked():
            return
        async with self._lifecycle:
            store = self._store
            if store is None or not _is_due(store.position, self._flushed):
                return
            try:
                self._flushed = await asyncio.to_thread(store.flush)
            except MetatideError as error:
                self._flush_fault = error
                self._wake.set()

    async def make_image(self) -> Manifest | None:
        """Makes an image of the present state; None when there is no store."""
        images = self._parts.images
        async with self._lifecycle:
            store = self._store
            if images is None or store is None:
                return None
            # Closing waits for the image, or the copy would be of a closed store.
            scratch = self._parts.directory.scratch(self.number)
            manifest = await _in_thread(images.create, store, scratch)
        self.image_made_s = manifest.made_s
        return manifest

    async def _open(self) -> None:
        parts = self._parts
        path = parts.directory.store(self.number)
        if parts.images is not None and not path.exists():
            self.phase = Phase.RESTORING
            restored = await self._restore_in_bulk()
            if restored is not None:
                self.image_made_s = restored.made_s
                parts.metrics.images.made_s.labels(self.number).set(restored.made_s)
        self.phase, self._has_orders = Phase.OPENING, False
        self._store = await asyncio.to_thread(
            Store,
            path,
            shard_identity(parts.topic, self.number),
            families=SHARD_FAMILIES,
            budget=parts.budget,
        )
        self._flushed, self._flush_fault = self._store.position, None
        self._epoch = self._flushed.epoch
        self._waiters.wake(self._store.position)

    async def _restore_in_bulk(self) -> Manifest | None:
        """Restores an image as soon as the brokers tell what the topic has."""
        while True:
            try:
                return await self._parts.bulk.restore(self._images.restore, self._stop)
            except TopicError as error:
                self.fault = str(error)
                await asyncio.sleep(RETRY_S)

    async def _close(self) -> None:
        self._tail = None
        self._arrived.clear()
        self.phase = Phase.CLOSED
        async with self._lifecycle:
            store, self._store = self._store, None
            if store is not None:
                try:
                    await _in_thread(store.close)
                except Exception as error:
                    log.warning("a store failed to close", shard=self.number, error=str(error))

    async def _set_aside(self) -> None:
        """Sets the damaged store aside; if its disk doesn't let that happen now, the next attempt
        to open it will."""
        path = self._parts.directory.store(self.number)
        try:
            if not await asyncio.to_thread(path.exists):
                return
            aside = await asyncio.to_thread(set_aside, path)
        except OSError as error:
            self._note_fault(error)
            return
        log.warning(
            "a damaged store was set aside; building it again", shard=self.number, aside=aside
        )

    def _note_fault(self, error: Exception) -> None:
        self.phase = Phase.FAILED
        self.fault = str(error)
        self._parts.metrics.faults.inc()
        # Before it is logged: a log that shows variables makes copies of references to them.
        _release(error)
        log.error("a shard failed", shard=self.number, error=str(error), exc_info=error)

    async def _serve(self, opened_at: float) -> None:
        assert self._store is not None
        applier = self._parts.applier(self._store, self.number)
        was_live = False
        while True:
            await self._catch_up(self._store, applier)
            if not was_live:
                took_s = time.monotonic() - opened_at
                self._parts.metrics.recovery_s.observe(took_s)
                position = self.position
                log.info(
                    "a shard is live",
                    shard=self.number,
                    epoch=position.epoch,
                    event_id=position.applied,
                    took_s=round(took_s, 3),
                )
            was_live, self.fault = True, None
            await self._fold_live(applier)

    async def _catch_up(self, store: Store, applier: Applier) -> None:
        """Catches up until the live consumer brings the next record."""
        while True:
            self._arrived.clear()
            self._arrived_bytes = 0
            if self._parts.limits.fault is not None:
                self.phase, self.fault = Phase.OVER_LIMIT, self._parts.limits.fault
                await self._parts.limits.room()
            self.phase = Phase.CATCHING_UP
            try:
                at_end = await self._parts.bulk.catch_up(
                    store, self._skips, self._stop, self._note_position, self._images.has_newer
                )
            except UnreadableRecordError as error:
                await self._await_order(error)
                continue
            except TopicError as error:
                self.fault = str(error)
                await asyncio.sleep(RETRY_S)
                continue
            self._note_position()
            self._has_orders |= at_end
            applier.resume()
            if at_end and await self._follow(applier.next_offset):
                return
            await asyncio.sleep(RETRY_S if at_end else 0)

    async def _await_order(self, error: UnreadableRecordError) -> None:
        """Waits until an operator orders a record to be skipped."""
        self._note_position()
        self.phase, self.fault, self.unreadable = Phase.STOPPED, str(error), error
        log.error("a shard stops", shard=self.number, offset=error.offset, why=str(error))
        try:
            while True:
                await asyncio.sleep(SKIP_LOOK_S)
                try:
                    if await self._parts.bulk.is_skipped(error, self._skips, self._stop):
                        return
                except TopicError as fault:
                    log.warning("the topic can't be read", shard=self.number, why=str(fault))
        finally:
            self.unreadable = None

    async def _follow(self, offset: int) -> bool:
        """Moves the live consumer to an offset; its records count from now on."""
        self._tail, self._seeking = offset, True
        try:
            return await self._parts.follow(self.number, offset)
        finally:
            self._seeking = False

    async def refollow(self) -> None:
        """Moves the live consumer again to where it should be, because it brings nothing."""
        if self.awaits is not None:
            await self._parts.follow(self.number, self.awaits)

    async def _fold_live(self, applier: Applier) -> None:
        """Folds live records until the shard can't follow the live consumer any more."""
        self.phase = Phase.LIVE
        limits = self._parts.limits
        while self._tail is not None and limits.fault is None:
            await self._wake.wait()
            self._wake.clear()
            if self._flush_fault is not None:
                raise self._flush_fault
            while self._arrived and limits.fault is None:
                self._fold_slice(applier)
                await asyncio.sleep(0)

    def _fold_slice(self, applier: Applier) -> None:
        arrived, started = self._arrived, time.perf_counter()
        written_ms = arrived[0].written_ms
        while arrived and not applier.full and time.perf_counter() - started < SLICE_S:
            record = arrived.popleft()
            self._arrived_bytes -= len(record.value)
            try:
                applier.add(record.offset, record.value)
            except RecordFormatError:
                # The bulk replay meets it again, and knows what to do.
                self.unfollow()
                arrived.clear()
        pending = applier.pending
        signals = applier.commit()
        self._note_position()
        metrics = self._parts.metrics
        metrics.batch_records.observe(pending)
        metrics.fold_s.observe(time.perf_counter() - started, applier.exemplar)
        self.lag_s = max(0.0, time.time() - written_ms / 1000)
        metrics.lag_s.observe(self.lag_s, applier.exemplar)
        if signals:
            self._parts.load_requests.ask(self.number, self.position.epoch, signals)

    def _note_position(self) -> None:
        """Tells whoever waits for an event how far the store has come."""
        assert self._store is not None
        position = self._store.position
        if position.epoch > self._epoch:
            log.info("an epoch begins", shard=self.number, epoch=position.epoch)
        self._epoch = position.epoch
        self.end = max(self.end, position.offset)
        self._waiters.wake(position)


async def _in_thread(work: Callable[..., T], *arguments: object) -> T:
    """Awaits work in a thread. The thread goes on when the wait is cancelled, as when the worker
    ends; nobody looks at its result then, or at its error."""
    working = asyncio.create_task(asyncio.to_thread(work, *arguments))
    working.add_done_callback(lambda task: task.cancelled() or task.exception())
    await asyncio.wait([working])
    return working.result()


def _release(error: BaseException) -> None:
    """Drops what the code held that failed. Its scans keep the directory of a closed store locked,
    and futures refer to errors that refer to them: garbage that is seldom collected."""
    cause: BaseException | None = error
    while cause is not None:
        clear_frames(cause.__traceback__)
        cause = cause.__cause__ or cause.__context__


def _is_due(position: StorePosition, flushed: StorePosition) -> bool:
    """Whether so much was folded since the last flush that a flush is worth its cost."""
    is_new_event = (position.epoch, position.applied) != (flushed.epoch, flushed.applied)
    return is_new_event or position.offset - flushed.offset >= UNFLUSHED_RECORDS_MAX
