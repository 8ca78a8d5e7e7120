"""The topic as workers see it, where the configuration, or else a running stack, has it."""

from metatide.config import Config
from metatide.kafka import events_topic
from processors.topic_client import Topic, TopicClient


def find_topic(config: Config) -> Topic:
    """Asks the brokers for it."""
    where = events_topic(config)
    return TopicClient(where.servers, where.name, where.security).describe()
