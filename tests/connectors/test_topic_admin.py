"""What trimming leaves in the topic, and what looking at it does."""

import asyncio
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import pytest
from aiokafka.client import AIOKafkaClient

from connectors import topic_admin
from connectors.publish import headers, tails
from connectors.publish.headers import RecordHeaders, RecordKind
from connectors.publish.producer import make_producer
from hive.errors import NoTopicError
from metatide.stack.kafka import Kafka
from metatide.stack.ports import Ports
from metatide.stack.service import Launch
from processors.consumer import faust_transport  # noqa: F401 - It changes how aiokafka asks.
from state.topic import Topic
from state.topic.client import topic_bounds
from tests.support.kafka.topics import new_topic
from tests.support.processes import running

LOAD = RecordHeaders(RecordKind.LOAD, 1, 0, "rows")


def change(event: int) -> RecordHeaders:
    return RecordHeaders(RecordKind.CHANGE, 1, event, "INSERT", b"%08d" % event)


def write(topic: Topic, shard: int, heads: Iterable[RecordHeaders]) -> None:
    """Records with these headers, which alone tell a connector where a shard stands."""
    producer = make_producer(topic)
    for head in heads:
        producer.produce(topic.name, b"", headers=headers.write(head), partition=shard)
    assert producer.flush(60) == 0


def test_a_position_behind_many_records_of_loads_stays(kafka_broker: str) -> None:
    """Without it, the next connector would publish the whole log again, or begin an epoch."""
    topic = new_topic(kafka_broker, 3)
    topic_admin.create(topic)
    loads = [LOAD] * (2 * tails.WINDOW_RECORDS)
    write(topic, 0, [change(1), change(2), *loads])
    write(topic, 1, [*loads, change(2)])
    write(topic, 2, loads)
    before = tails.find(topic)
    assert (before.epoch, before.upto) == (1, (2, 2, None))
    ends = {shard: bounds.end for shard, bounds in topic_bounds(topic).items()}
    cut = {shard: end - tails.WINDOW_RECORDS for shard, end in ends.items()}
    for _ in range(2):
        assert topic_admin.trim(topic, ends) == {**cut, 0: 1}
        after = tails.find(topic)
        assert (after.epoch, after.upto, after.furthest) == (1, (2, 2, None), before.furthest)


_ASKING_S: Final = 2.0


async def _ask_as_faust(topic: Topic) -> None:
    client = AIOKafkaClient(bootstrap_servers=topic.servers)
    await client.bootstrap()
    try:
        await client.add_topic(topic.name)
    finally:
        await client.close()


class _AsShipped(Kafka):
    """A broker that creates topics that a client asks for, which is the default of Kafka."""

    def prepare(self) -> Launch:
        launch = super().prepare()
        settings = Path(launch.argv[-1])
        text = settings.read_text()
        assert "auto.create.topics.enable=false" in text
        settings.write_text(text.replace("topics.enable=false", "topics.enable=true"))
        return launch


def test_who_looks_for_a_topic_does_not_create_it(tmp_path: Path) -> None:
    """It would have one partition and keep records for a week, and connectors would refuse it."""
    broker = _AsShipped(tmp_path / "kafka", Ports(tmp_path / "ports.json"))
    with running(broker, tmp_path / "log"):
        topic = Topic(broker.address, "events", 3)
        for look in (topic_admin.check, topic_admin.describe, tails.find):
            with pytest.raises(NoTopicError, match="there is no topic"):
                look(topic)
        producer = make_producer(topic)
        producer.produce(topic.name, b"", partition=0)
        producer.poll(_ASKING_S)
        producer.purge()
        asyncio.run(_ask_as_faust(topic))
        assert topic.name not in topic.admin().list_topics(timeout=30).topics
        assert topic_admin.create(topic)
        topic_admin.check(topic)
