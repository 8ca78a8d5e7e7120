"""What becomes of a shard when the topic has lost records that brokers had acknowledged."""

from pathlib import Path

import pytest

from state.image import Images
from state.records import encode
from state.shard_reader import ShardReader
from state.topic import Topic, TopicClient
from tests.processors.worker.in_process import working
from tests.support.histories import BUDGET, OTHERS, RECORDS, image
from tests.support.kafka.broker import mortal_broker
from tests.support.kafka.topics import TopicWriter, new_topic, write
from tests.support.tables import Metastore
from tests.support.workers import WorkerProcess, workers

pytestmark = [pytest.mark.slow, pytest.mark.by_turns(4, of="crashes")]

PATIENCE_S = 240.0
"""The broker starts three times, and each time the group comes together anew."""


def publish(topic: Topic, metastore: Metastore) -> dict[int, int]:
    """Publishes some events; returns the end of the topic."""
    writer = TopicWriter(topic)
    for shard, record in metastore.records(5):
        writer.write(shard, [encode(record)])
    writer.flush()
    return dict(TopicClient(topic.servers, topic.name).ends([0]))


async def test_an_image_of_records_that_the_topic_has_lost_is_left_out(
    kafka_broker: str, tmp_path: Path
) -> None:
    """The topic has grown beyond the image since, and an order stands among its other records."""
    topic, url = new_topic(kafka_broker, 1), str(tmp_path / "images")
    write(topic, {0: OTHERS})
    image(topic, Images(url, BUDGET), tmp_path, RECORDS)
    async with working(topic, tmp_path / "worker", images_url=url) as worker:
        snapshot = worker.snapshot(0)
        assert snapshot is not None
        assert snapshot.position.offset == len(OTHERS)
        assert ShardReader(snapshot).head.paused
        del snapshot


@pytest.mark.timeout(900)
def test_a_live_shard_that_is_ahead_of_its_topic_is_built_again(tmp_path: Path) -> None:
    metastore = Metastore(3, 1, seed=1)
    with mortal_broker() as broker:
        topic = new_topic(broker.address, 1)
        ends = publish(topic, metastore)
        worker = WorkerProcess(topic, tmp_path, "one")
        with workers(worker):
            worker.until_at(ends, PATIENCE_S)
            with broker.forgetting():
                worker.until_at(publish(topic, metastore), PATIENCE_S)
            worker.until_at(ends, PATIENCE_S)
