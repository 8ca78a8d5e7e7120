"""Shards that come and go while they are slow to close: one task at a time has a shard's store."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, cast

import pytest

from processors.directory import WorkerDirectory
from processors.worker.assigned_shards import AssignedShards
from processors.worker.shard import Shard
from tests.processors.worker.in_process import until

NUMBER = 3


class SlowShard:
    """A shard that closes when it is told to."""

    all: list["SlowShard"]

    def __init__(self, *_: object) -> None:
        self.runs = False
        self.may_close = asyncio.Event()
        self.all.append(self)

    def unfollow(self) -> None:
        pass

    async def run(self) -> None:
        self.runs = True
        try:
            await asyncio.Event().wait()
        finally:
            await self.may_close.wait()
            self.runs = False


@pytest.fixture
async def assigned_shards(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[AssignedShards]:
    monkeypatch.setattr(SlowShard, "all", [], raising=False)
    yield AssignedShards(lambda _: cast(Shard, SlowShard()), lambda _: None)
    # After a failure nobody else lets them close, and the event loop waits for them.
    for shard in SlowShard.all:
        shard.may_close.set()


def running() -> list[int]:
    return [at for at, shard in enumerate(SlowShard.all) if shard.runs]


async def turns() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


@pytest.mark.parametrize("between", [turns, None])
async def test_a_shard_that_comes_back_waits_for_all_before_it(
    assigned_shards: AssignedShards, between: Any
) -> None:
    assigned_shards.assign(frozenset([NUMBER]))
    await turns()
    for _ in range(2):
        for assigned in ([], [NUMBER]):
            assigned_shards.assign(frozenset(assigned))
            if between is not None:
                await between()
    await turns()
    assert running() == [0]
    SlowShard.all[0].may_close.set()
    await until(lambda: running() == [2])
    SlowShard.all[2].may_close.set()
    await end(assigned_shards)


async def test_at_the_end_a_shard_that_was_lost_is_waited_for(
    assigned_shards: AssignedShards,
) -> None:
    assigned_shards.assign(frozenset([NUMBER]))
    await turns()
    for assigned in ([], [NUMBER], []):
        assigned_shards.assign(frozenset(assigned))
        await turns()
    ending = asyncio.create_task(end(assigned_shards))
    await turns()
    assert running() == [0]
    assert not ending.done()
    SlowShard.all[0].may_close.set()
    await ending
    assert running() == []


async def end(assigned_shards: AssignedShards) -> None:
    holding = asyncio.create_task(assigned_shards.hold())
    await asyncio.sleep(0)
    holding.cancel()
    await asyncio.wait([holding])


async def test_what_is_lost_and_what_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SlowShard, "all", [], raising=False)
    lost: list[int] = []
    assigned_shards = AssignedShards(lambda _: cast(Shard, SlowShard()), lost.append)
    assert not assigned_shards.were_assigned
    assigned_shards.assign(frozenset((1, 2)))
    assert assigned_shards.were_assigned
    stays = assigned_shards.by_number[2]
    assigned_shards.assign(frozenset((2, 5)))
    assert lost == [1]
    assert sorted(assigned_shards.by_number) == [2, 5]
    assert assigned_shards.by_number[2] is stays
    for shard in SlowShard.all:
        shard.may_close.set()
    await end(assigned_shards)
    assert assigned_shards.are_closing
    assigned_shards.assign(frozenset([NUMBER]))
    assert assigned_shards.by_number == {}


async def test_the_store_of_a_shard_that_closes_or_is_here_is_not_deleted(
    assigned_shards: AssignedShards, tmp_path: Path
) -> None:
    directory = WorkerDirectory(tmp_path)
    for number in (NUMBER, 4, 5):
        directory.store(number).mkdir(parents=True)
    await assigned_shards.delete_others(directory)
    assert directory.shards() == [NUMBER, 4, 5], "nobody knows which are here"
    assigned_shards.assign(frozenset([NUMBER, 4]))
    await turns()
    assigned_shards.assign(frozenset([4]))
    await assigned_shards.delete_others(directory)
    assert directory.shards() == [NUMBER, 4]
    SlowShard.all[0].may_close.set()
    await until(lambda: not SlowShard.all[0].runs)
    await assigned_shards.delete_others(directory)
    assert directory.shards() == [4]
