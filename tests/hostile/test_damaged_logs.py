"""Logs of a real broker whose disk has changed a byte: nothing of it is folded."""

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from hive.names import TableName
from state.records import Change, encode
from state.records.actions import AnyAction, CreateTable
from state.records.objects import TableImage
from state.topic import Topic
from tests.support.kafka.broker import MortalBroker, mortal_broker
from tests.support.kafka.topics import TopicWriter, new_topic
from tests.support.workers import WorkerProcess, workers

pytestmark = [pytest.mark.slow, pytest.mark.by_turns(2, of="hostile")]


@pytest.fixture(scope="module")
def broker() -> Iterator[MortalBroker]:
    with mortal_broker() as broker:
        yield broker


def create(event: int) -> bytes:
    name = TableName("hive", "db", f"t{event}")
    image = TableImage(
        name, event, 0, managed=False, partitioned=True, data=b"in warehouse/%d" % event
    )
    actions: tuple[AnyAction, ...] = (CreateTable(image),)
    return encode(Change(0, event - 1, event, actions))


def write(topic: Topic, compression: str, *events: int) -> None:
    """Writes each event in a batch of its own."""
    for event in events:
        writer = TopicWriter(topic, compression)
        writer.write(0, [create(event)])
        writer.flush()


@pytest.mark.parametrize("compression", ["none", "lz4"])
@pytest.mark.parametrize("is_live", [False, True], ids=["built again", "live"])
def test_a_shard_stops_before_a_record_that_has_changed(
    broker: MortalBroker, tmp_path: Path, compression: str, *, is_live: bool
) -> None:
    topic = new_topic(broker.address, 1)
    worker = WorkerProcess(topic, tmp_path, "one")
    write(topic, compression, 1)
    with workers(worker):
        worker.until_at({0: 1})
        if is_live:
            worker.send(signal.SIGSTOP)
        else:
            worker.end()
        write(topic, compression, 2, 3)
        broker.damage(topic.name, 0, b"in warehouse/2")
        if is_live:
            worker.send(signal.SIGCONT)
        else:
            worker.start()
        status = worker.until(
            lambda status: [shard["phase"] for shard in status["shards"]] == ["stopped"]
        )
        [shard] = status["shards"]
        assert shard["offset"] == 1
        assert shard["unreadable"] == {"offset": 1, "reason": "damaged"}
