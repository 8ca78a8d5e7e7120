"""Bulk replay: folds a stretch of the topic into a store as fast as one core can."""

import time
from collections.abc import Callable
from math import inf
from pathlib import Path
from threading import Event
from typing import Final, NamedTuple

import structlog

from hive.errors import RecordFormatError, TrimmedTopicError, UnreadableRecordError
from processors.applier import Applier
from processors.replay.skips import Skips
from state.store import MemoryBudget, Store, StorePosition
from state.store.families import SHARD_FAMILIES, shard_identity
from state.topic import Topic, TopicReader

FLUSH_EVERY_S: Final = 15.0

log = structlog.get_logger(__name__)


class Progress(NamedTuple):
    """The progress of a shard's replay, in offsets."""

    shard: int
    first: int
    done: int
    end: int


def replay(
    store: Store,
    reader: TopicReader,
    *,
    end: int | None = None,
    stop: Event | None = None,
    report: Callable[[Progress], None] | None = None,
    skips: Skips | None = None,
    time_s_max: float = inf,
    whole: bool = False,
) -> StorePosition:
    """Folds the records after the store's position, up to `end` or to the present end of the topic.

    Signals are dropped: they have been answered, or whoever still misses the load asks again.
    Returns early when `stop` is set or after `time_s_max`, and keeps what was folded until then.
    Raises at a record that can't be read unless an order skips it, and keeps what was folded
    before it. If `whole`, it also raises where the topic lacks records, as after a trim.
    """
    shard = store.identity.shard
    skips = skips or Skips()
    due_s = time.monotonic() + time_s_max
    if end is None:
        end = reader.bounds(shard).end
    while True:
        try:
            return _replay(store, reader, end, stop, report, skips, due_s, whole)
        except UnreadableRecordError as error:
            if not skips.search(reader, shard, error.offset, stop):
                if stop is not None and stop.is_set():
                    return store.position
                raise


def _replay(
    store: Store,
    reader: TopicReader,
    end: int,
    stop: Event | None,
    report: Callable[[Progress], None] | None,
    skips: Skips,
    due_s: float,
    whole: bool,
) -> StorePosition:
    shard = store.identity.shard
    applier = Applier(store)
    first = applier.next_offset
    flushed = time.monotonic()
    for batch in reader.read(shard, first, end) if first < end else ():
        if stop is not None and stop.is_set():
            break
        for record in batch:
            if record.offset > applier.next_offset:
                _skip_gap(applier, shard, record.offset, whole)
            try:
                applier.add(*record)
            except RecordFormatError as error:
                _pass_over(applier, shard, record.offset, error, skips)
            if applier.full:
                applier.commit()
        applier.commit()
        if report is not None:
            report(Progress(shard, first, applier.next_offset, end))
        if time.monotonic() - flushed >= FLUSH_EVERY_S:
            store.flush()
            flushed = time.monotonic()
        if batch and time.monotonic() >= due_s:
            break
    else:
        if applier.next_offset < end:
            _skip_gap(applier, shard, end, whole)
            applier.commit()
    return store.position


def _skip_gap(applier: Applier, shard: int, end: int, whole: bool) -> None:
    """Skips the records that the topic lacks up to an offset, unless it must be whole."""
    if whole:
        raise TrimmedTopicError(
            f"the topic lacks the records of shard {shard} from offset {applier.next_offset} on, "
            "because it was trimmed meanwhile: begin from images (`metatide image restore`, or "
            "`metatide image once` on Spark)"
        )
    applier.commit()
    applier.skip_to(end)


def _pass_over(
    applier: Applier, shard: int, offset: int, error: RecordFormatError, skips: Skips
) -> None:
    """Passes over a record that can't be read, if an order says so."""
    if not skips.cover(offset):
        applier.commit()
        raise UnreadableRecordError(shard, offset, error) from error
    log.warning("a record was skipped by order", shard=shard, offset=offset, why=str(error))
    applier.skip()


def rebuild(
    topic: Topic,
    shard: int,
    path: Path,
    budget: MemoryBudget,
    *,
    report: Callable[[Progress], None] | None = None,
) -> StorePosition:
    """Builds the store of a shard from the whole topic; the path must not exist."""
    assert not path.exists(), f"{path} is there already"
    store = Store(path, shard_identity(topic, shard), families=SHARD_FAMILIES, budget=budget)
    with store, TopicReader(topic) as reader:
        # The worker that opens the store makes them.
        store.defer_compactions(deferred=True)
        return replay(store, reader, report=report, whole=True)
