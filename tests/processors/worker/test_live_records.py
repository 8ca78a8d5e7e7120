"""How records come from the live consumer to the shards."""

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from hive.names import TableName
from processors.consumer.faust_transport import Transport
from processors.live_record import LiveRecord
from processors.worker.shard import Shard
from state.records import Change
from state.records.actions import CreateTable
from state.records.objects import TableImage
from tests.processors.worker.in_process import until, working
from tests.support.kafka.topics import new_topic, write

SHARDS = 16
IMAGE = TableImage(TableName("hive", "db", "t"), 1, 0, managed=False, partitioned=True, data=b"t")
BUSY_S = 0.5
FAR_OFFSET = 1 << 40
EVENTS = 3
OFFSET = 5


async def test_records_of_all_shards_arrive_in_the_same_turn(
    kafka_broker: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns = 0
    offered_in: list[int] = []
    take = Shard.offer

    def note(shard: Shard, records: Sequence[LiveRecord]) -> None:
        offered_in.append(turns)
        take(shard, records)

    async def count_turns() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    topic = new_topic(kafka_broker, SHARDS)
    async with working(topic, tmp_path) as worker:
        monkeypatch.setattr(Shard, "offer", note)
        counting = asyncio.create_task(count_turns())
        write(topic, {shard: [Change(0, 0, 1, (CreateTable(IMAGE),))] for shard in range(SHARDS)})
        # What the consumer's thread fetches meanwhile is there at once.
        time.sleep(BUSY_S)
        await until(lambda: all(shard.position.applied == 1 for shard in worker.shards.values()))
        counting.cancel()
    assert len(offered_in) == SHARDS
    # A fetch returns with the first record that there is, and so may bring a part.
    assert len(set(offered_in)) <= SHARDS // 4, offered_in


async def test_a_shard_that_moves_costs_no_other_its_records(
    kafka_broker: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left: list[int] = []

    async def moved(consumer: Any, *arguments: Any, **named: Any) -> Any:
        fetched = await getmany(consumer, *arguments, **named)
        for where in fetched:
            consumer._read_offset[where] = FAR_OFFSET
        return fetched

    topic = new_topic(kafka_broker, SHARDS)
    async with working(topic, tmp_path) as worker:
        await until(lambda: all(shard.live for shard in worker.shards.values()))
        getmany = Transport.Consumer._getmany
        monkeypatch.setattr(Transport.Consumer, "_getmany", moved)
        monkeypatch.setattr(Shard, "unfollow", lambda shard: left.append(shard.number))
        for event in range(EVENTS):
            records = [Change(0, event, event + 1, (CreateTable(IMAGE),))]
            write(topic, dict.fromkeys(range(SHARDS), records))
        await until(lambda: {s.position.applied for s in worker.shards.values()} == {EVENTS})
        monkeypatch.undo()
    assert left == []
