"""Counts of the tables of a shard that comes and goes."""

import asyncio
import threading

import pytest

from hive.errors import ClosedStoreError
from query_api.http.page import table_counts
from query_api.http.page.table_counts import Counting, TableCounts, count_tables
from query_api.shards import Views
from state.shard_reader import ShardReader
from tests.query_api.http.warm_shards import warm


async def test_a_shard_that_has_gone_has_no_counts() -> None:
    shards = warm()
    counting = Counting(Views(shards))
    counts = await counting.counts(0)
    assert counts is not None
    assert counts.warm == 1
    shards.shards[0], gone = None, shards.shards[0]
    assert await counting.counts(0) is None
    shards.shards[0] = gone
    assert await counting.counts(0) == counts
    assert await counting.counts(0) is not counts, "it is counted anew"
    await counting.close()


async def test_a_store_that_is_closed_meanwhile_has_no_counts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    counting = Counting(Views(shards := warm()))
    assert await counting.counts(0) is not None
    monkeypatch.setattr(table_counts, "AGAIN_S", 0.0)
    monkeypatch.setattr(table_counts, "AGAIN_FACTOR", 0.0)

    def fail(_: ShardReader) -> None:
        raise ClosedStoreError("the store is closed")

    monkeypatch.setattr(table_counts, "count_tables", fail)
    counting._counted.clear()
    assert await counting.counts(0) is None
    assert shards.shards[0] is not None
    await counting.close()


async def test_a_shard_that_can_not_be_read_any_more_has_no_counts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shards = warm()
    counting = Counting(Views(shards))
    shard = shards.shard(0)
    assert shard is not None
    monkeypatch.setattr(table_counts, "AGAIN_S", 0.0)
    monkeypatch.setattr(table_counts, "AGAIN_FACTOR", 0.0)
    assert await counting.counts(0) is not None
    shard.skip()
    monkeypatch.setattr(shard, "snapshot", lambda: None)
    await counting.counts(0)
    await counting.close()
    assert await counting.counts(0) is None


async def test_its_end_waits_for_the_count_that_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_counts, "FIRST_S_MAX", 0)
    may_count = threading.Event()

    def slowly_counted(reader: ShardReader) -> TableCounts:
        assert may_count.wait(60)
        return count_tables(reader)

    monkeypatch.setattr(table_counts, "count_tables", slowly_counted)
    counting = Counting(Views(warm()))
    assert await counting.counts(0) is None, "the first caller doesn't wait"
    end = asyncio.create_task(counting.close())
    await asyncio.sleep(0.01)
    assert not end.done()
    may_count.set()
    await end
    await asyncio.sleep(0)
    counts = await counting.counts(0)
    assert counts is not None
    assert counts.warm == 1
