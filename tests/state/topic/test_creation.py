import uuid

from confluent_kafka.admin import ConfigResource, ResourceType  # type: ignore[attr-defined]

from state.topic import Topic
from state.topic.creation import create_signals

SHARDS = 3


def test_the_signals_topic_is_created_once_with_a_partition_for_each_shard(
    kafka_broker: str,
) -> None:
    topic = Topic(kafka_broker, f"test-{uuid.uuid4().hex[:12]}", SHARDS)
    admin = topic.admin()
    for _ in range(2):
        create_signals(topic)
    while topic.signals not in (topics := admin.list_topics(timeout=30).topics):
        pass
    assert len(topics[topic.signals].partitions) == SHARDS
    resource = ConfigResource(ResourceType.TOPIC, topic.signals)
    [answer] = admin.describe_configs([resource], request_timeout=30).values()
    settings = answer.result()
    assert settings["retention.ms"].value == str(24 * 3600 * 1000)
    assert settings["cleanup.policy"].value == "delete"
