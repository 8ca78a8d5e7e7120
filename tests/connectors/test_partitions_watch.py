"""Partitions that somebody adds to the topic while connectors run."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
from confluent_kafka.admin import NewPartitions  # type: ignore[attr-defined]

from connectors.connector import Connector, Status
from connectors.log.sql_source import SqlSource
from connectors.partitions_watch import PartitionsWatch
from hive.errors import OtherTopicError
from state.topic import Topic
from state.topic.client import topic_bounds
from tests.connectors.connector_runs import PATIENCE_S, QUICK, Log, until
from tests.support.kafka.topics import delete_topic, new_topic


def add_partition(topic: Topic) -> None:
    admin = topic.admin()
    wanted = NewPartitions(topic.name, topic.shards + 1)
    admin.create_partitions([wanted])[topic.name].result(PATIENCE_S)


@contextmanager
def ending(connector: Connector) -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as pool:
        try:
            yield pool
        finally:
            connector.stop()


def test_a_connector_ends_before_another_one_can_know_more_partitions(
    log: Log, topic: Topic
) -> None:
    """Otherwise the other one's records of events would be taken for repetitions of its own, which
    say that nothing has happened in their shard."""
    log.write(1, 2)
    status = Status()
    connector = Connector(SqlSource(log.engine), topic, pace=QUICK, status=status)
    with ending(connector) as pool:
        running = pool.submit(connector.run)
        until(lambda: status.position == 2)
        add_partition(topic)
        with pytest.raises(OtherTopicError, match=r"3 partitions.* while no connector runs"):
            running.result(PATIENCE_S)
        ends = topic_bounds(topic)
        log.write(3)
        with pytest.raises(OtherTopicError):
            connector.run()
        assert topic_bounds(topic) == ends


def test_a_topic_that_is_away_has_no_other_partitions(kafka_broker: str) -> None:
    topic = new_topic(kafka_broker, 2)
    watch = PartitionsWatch(topic)
    delete_topic(topic.servers, topic.name)
    watch.look()
    assert watch._answer is not None
    until(watch._answer.done)
    watch.look()
    assert watch._answer is None
