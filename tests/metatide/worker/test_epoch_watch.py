"""The epoch is learned from the ends of the topic while no shard here follows it."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager

import pytest
from confluent_kafka import Producer

from connectors.publish import headers
from connectors.publish.headers import RecordHeaders, RecordKind
from hive.errors import MachineError, TopicError
from metatide.worker import epoch_watch
from metatide.worker.epoch_watch import EpochWatch
from state.records.epochs import EPOCH_JUMP_MAX
from state.topic import Topic, TopicClient
from state.topic.client import Bounds
from state.topic.partitions import PartitionsReader
from state.topic.settings import QUIET
from tests.support.kafka.topics import delete_before, new_topic

PATIENCE_S = 30


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(epoch_watch, "EVERY_S", 0.05)


def write(topic: Topic, shard: int, *epochs: int, kind: RecordKind = RecordKind.CHANGE) -> None:
    producer = Producer({"bootstrap.servers": topic.servers}, logger=QUIET)
    for epoch in epochs:
        told = headers.write(RecordHeaders(kind, epoch, 7))
        producer.produce(topic.name, b"", partition=shard, headers=told)
    assert producer.flush(PATIENCE_S) == 0


@asynccontextmanager
async def watching(watch: EpochWatch) -> AsyncIterator[None]:
    task = asyncio.create_task(watch.run())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])


async def until(what: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not what():
            await asyncio.sleep(0.02)


async def test_the_last_records_tell_it(kafka_broker: str) -> None:
    topic = new_topic(kafka_broker, 3)
    write(topic, 0, 0, 0, 1)
    write(topic, 1, 1, 0)
    watch = EpochWatch(lambda: topic)
    assert watch.epoch is None
    async with watching(watch):
        await until(lambda: watch.epoch == 1)
        write(topic, 2, 2, kind=RecordKind.RESET)
        await until(lambda: watch.epoch == 2)
        delete_before(topic, 2, -1)
        write(topic, 0, 2, 4 + EPOCH_JUMP_MAX, 3)
        await until(lambda: watch.epoch == 3)


async def test_an_empty_topic_begins_with_epoch_0(kafka_broker: str) -> None:
    topics: list[Topic] = []
    watch = EpochWatch(lambda: topics[0] if topics else None)
    async with watching(watch):
        await asyncio.sleep(0.2)
        assert watch.epoch is None
        topics.append(new_topic(kafka_broker, 2))
        await until(lambda: watch.epoch == 0)


async def test_a_topic_that_cannot_be_read_is_tried_again(
    kafka_broker: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(epoch_watch, "FIRST_S", 0)
    topic, faults = new_topic(kafka_broker, 1), [MachineError("no"), TopicError("none")]
    write(topic, 0, 1)

    def fail_first(client: TopicClient, shards: int) -> dict[int, Bounds]:
        if faults:
            raise faults.pop()
        return some_bounds(client, shards)

    some_bounds = epoch_watch._some_bounds
    monkeypatch.setattr(epoch_watch, "_some_bounds", fail_first)
    watch = EpochWatch(lambda: topic)
    async with watching(watch):
        await until(lambda: watch.epoch == 1)
    assert faults == []


async def test_records_that_do_not_come_tell_nothing(
    kafka_broker: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(epoch_watch, "_LOOKS_MAX", 1)
    looks, wanted = list[dict[int, int]](), epoch_watch._epochs

    async def look_too_far(
        reader: PartitionsReader, starts: dict[int, int], ends: dict[int, int]
    ) -> set[int] | None:
        looks.append(ends)
        # Nobody writes as far as that.
        return await wanted(reader, starts, {shard: end + 1 for shard, end in ends.items()})

    topic = new_topic(kafka_broker, 1)
    write(topic, 0, 1)
    delete_before(topic, 0, -1)
    write(topic, 0, 1)
    monkeypatch.setattr(epoch_watch, "_epochs", look_too_far)
    monkeypatch.setattr(headers, "read", lambda _: None)
    watch = EpochWatch(lambda: topic)
    async with watching(watch):
        await until(lambda: len(looks) > 2)
        assert watch.epoch is None


def test_a_partition_without_a_leader_keeps_no_other_from_telling() -> None:
    class Client(TopicClient):
        def __init__(self, *led: int) -> None:
            self._led = led

        def bounds(self, shards: Iterable[int]) -> dict[int, Bounds]:
            [shard] = shards
            if shard not in self._led:
                raise TopicError(f"nobody leads {shard}")
            return {shard: Bounds(0, shard)}

    assert epoch_watch._some_bounds(Client(1), 2) == {1: Bounds(0, 1)}
    assert len(epoch_watch._some_bounds(Client(*range(9)), 9)) == epoch_watch.PARTITIONS_MAX
    with pytest.raises(TopicError, match="nobody leads 0"):
        epoch_watch._some_bounds(Client(), 1)


async def test_shards_that_follow_the_topic_tell_it_and_are_remembered() -> None:
    live, looks = [1, 2], 0

    def live_epochs() -> list[int]:
        nonlocal looks
        looks += 1
        return live

    watch = EpochWatch(lambda: None, live_epochs)
    assert watch.epoch == 2
    live = [3]
    async with watching(watch):
        await until(lambda: looks > 2)
        live = []
        assert watch.epoch == 3
