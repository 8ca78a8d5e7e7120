"""Counts how many tables of a shard are warm, and why the others are cold."""

import asyncio
import time
from collections import Counter
from typing import Final

import msgspec

from hive.errors import MetatideError
from query_api.shards import Views
from state.loads import Doubt
from state.shard_reader import ShardReader
from state.store import StorePosition

AGAIN_S: Final = 2.0
AGAIN_FACTOR: Final = 20.0
"""Counting all shards takes at most one in this many seconds."""
FIRST_S_MAX: Final = 2.0
"""How long the first caller waits for a count."""


class TableCounts(msgspec.Struct, frozen=True):
    """The numbers of warm and cold tables in a shard."""

    warm: int
    cold: dict[str, int]
    """The number of cold tables for each reason."""
    named: int
    """The number of tables in this shard's lists of names; other shards may hold the tables."""


class _Counted(msgspec.Struct, frozen=True):
    counts: TableCounts
    position: StorePosition
    until: float


class Counting:
    """Counts in a thread and keeps the counts for some seconds."""

    def __init__(self, views: Views) -> None:
        self._views = views
        self._counted: dict[int, _Counted] = {}
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._one_at_a_time = asyncio.Lock()

    async def counts(self, number: int) -> TableCounts | None:
        """The counts; None if the shard can't be read or isn't counted yet."""
        shard = self._views.source.shard(number)
        if shard is None:
            self._counted.pop(number, None)
            return None
        counted = self._counted.get(number)
        is_old = counted is None or (
            counted.position != shard.position and time.monotonic() >= counted.until
        )
        if is_old and number not in self._tasks:
            task = self._tasks[number] = asyncio.create_task(self._count(number, shard.position))
            task.add_done_callback(lambda _: self._tasks.pop(number))
        if counted is None:
            await asyncio.wait([self._tasks[number]], timeout=FIRST_S_MAX)
            counted = self._counted.get(number)
        return None if counted is None else counted.counts

    async def close(self) -> None:
        if self._tasks:
            await asyncio.wait(list(self._tasks.values()))

    async def _count(self, number: int, position: StorePosition) -> None:
        async with self._one_at_a_time:
            reader = self._views.own_reader(number)
            began = time.monotonic()
            try:
                counts = None if reader is None else await asyncio.to_thread(count_tables, reader)
            except MetatideError:
                # The shard is closing, or its store is broken; its phase and its fault say which.
                counts = None
        if counts is None:
            self._counted.pop(number, None)
            return
        now = time.monotonic()
        again_s = max(AGAIN_S, (now - began) * AGAIN_FACTOR * self._views.source.count)
        self._counted[number] = _Counted(counts, position, now + again_s)


def count_tables(reader: ShardReader) -> TableCounts:
    """Counts all tables that exist or may exist. It takes a while."""
    head = reader.head
    warm, cold = 0, Counter[str]()
    for name in reader.table_names():
        state = reader.state(name)
        assert state is not None
        why = state.why_cold(head.applied, head.floor)
        exists = reader.table(name) is not None
        if why is None:
            warm += exists
        elif exists or state.loads.doubt is not Doubt.DROPPED:
            cold[why] += 1
    named = sum(1 for db in reader.database_names() for _ in reader.names(db))
    return TableCounts(warm, dict(cold), named)
