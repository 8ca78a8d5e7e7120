"""A shard whose disk, topic or images fail for a moment."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from hive.errors import ColdShardError, TopicError
from processors.replay.bulk_replay import Bulk
from processors.worker import shard as module
from processors.worker.shard import Shard
from state.records import Change, Skip, encode
from state.store import Store
from state.topic import Topic
from tests.processors.worker.created_table import CREATED
from tests.processors.worker.in_process import until, working
from tests.support.kafka.topics import TopicWriter, new_topic, write

Method = Callable[..., Awaitable[Any]]


@pytest.fixture
def topic(kafka_broker: str) -> Topic:
    return new_topic(kafka_broker, 1)


def failing_once(method: Method, error: Exception) -> Method:
    """The method, which fails the first time."""
    errors = [error]

    async def call(*arguments: Any) -> Any:
        if errors:
            raise errors.pop()
        return await method(*arguments)

    return call


async def test_a_fault_that_nobody_expects_is_told_and_the_shard_begins_again(
    topic: Topic, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(topic, {0: [CREATED]})
    fails = failing_once(Shard._catch_up, ZeroDivisionError("nobody expects it"))
    monkeypatch.setattr(Shard, "_catch_up", fails)
    with capture_logs() as logs:
        async with working(topic, tmp_path) as worker:
            assert worker.shards[0].position.applied == 1
            assert worker.metrics.registry.get_sample_value("metatide_shard_faults_total") == 1
            assert worker.shards[0].fault is None
            ended = worker.shards[0]
    assert "nobody expects it" in {line.get("error") for line in logs}
    assert await ended.make_image() is None, "it has no store any more"
    await ended.refollow()


async def test_a_damaged_store_that_is_gone_is_not_set_aside(
    topic: Topic, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stores = iter([ColdShardError("it is damaged")])

    def open_store(*arguments: Any, **options: Any) -> Any:
        for failure in stores:
            raise failure
        return Store(*arguments, **options)

    monkeypatch.setattr(module, "Store", open_store)
    with capture_logs() as logs:
        async with working(topic, tmp_path):
            pass
    assert "a shard failed" in {line["event"] for line in logs}
    assert "a damaged store was set aside; building it again" not in {
        line["event"] for line in logs
    }


async def test_an_image_is_restored_once_the_topic_can_be_read(
    topic: Topic, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "RETRY_S", 0)
    fails = failing_once(Bulk.restore, TopicError("the brokers are away"))
    monkeypatch.setattr(Bulk, "restore", fails)
    async with working(topic, tmp_path, images_url=str(tmp_path / "images")) as worker:
        assert worker.metrics.registry.get_sample_value("metatide_shard_faults_total") == 0
        assert worker.shards[0].fault is None


async def test_an_order_to_skip_is_looked_for_until_the_topic_can_be_read(
    topic: Topic, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SKIP_LOOK_S", 0.01)
    fails = failing_once(Bulk.is_skipped, TopicError("the brokers are away"))
    monkeypatch.setattr(Bulk, "is_skipped", fails)
    writer = TopicWriter(topic)
    writer.write(0, [encode(CREATED), b"garbage"])
    writer.flush()
    with capture_logs() as logs:
        async with working(topic, tmp_path) as worker:
            shard = worker.shards[0]
            assert shard.unreadable is not None
            await until(lambda: "the topic can't be read" in {line["event"] for line in logs})
            write(topic, {0: [Skip(0, 1, 1), Change(0, 1, 2)]})
            await until(lambda: shard.position.applied == 2)
            await until(lambda: shard.unreadable is None)


async def test_records_that_come_faster_than_they_are_folded_are_read_from_the_topic(
    topic: Topic, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with working(topic, tmp_path) as worker:
        shard = worker.shards[0]
        monkeypatch.setattr(module, "ARRIVED_RECORDS_MAX", 0)
        write(topic, {0: [CREATED]})
        assert await shard.complete_up_to(0, 1, 30)
        monkeypatch.undo()
        write(topic, {0: [Change(0, 1, 2)]})
        assert await shard.complete_up_to(0, 2, 30)
        await until(lambda: shard.live)
