"""What becomes of a shard when the topic has lost records that brokers had acknowledged."""

from pathlib import Path

import pytest

from state.records import encode
from state.topic import Topic, TopicClient
from tests.support.kafka import mortal_broker
from tests.support.tables import Metastore
from tests.support.topics import TopicWriter, new_topic
from tests.support.workers import WorkerProcess, workers

PATIENCE_S = 240.0
"""The broker starts three times, and each time the group comes together anew."""


def publish(topic: Topic, metastore: Metastore) -> dict[int, int]:
    """Publishes some events; returns the end of the topic."""
    writer = TopicWriter(topic)
    for shard, record in metastore.records(5):
        writer.write(shard, [encode(record)])
    writer.flush()
    return dict(TopicClient(topic.servers, topic.name).ends([0]))


@pytest.mark.timeout(900)
def test_a_live_shard_that_is_ahead_of_its_topic_is_built_again(tmp_path: Path) -> None:
    metastore = Metastore(3, 1, seed=1)
    with mortal_broker() as broker:
        topic = new_topic(broker.address, 1)
        kept = publish(topic, metastore)
        worker = WorkerProcess(topic, tmp_path, "one")
        with workers(worker):
            worker.until_at(kept, PATIENCE_S)
            with broker.forgetting():
                worker.until_at(publish(topic, metastore), PATIENCE_S)
            worker.until_at(kept, PATIENCE_S)
