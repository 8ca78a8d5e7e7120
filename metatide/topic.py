"""The topic of the configuration, or of a running stack, as workers use it."""

from metatide.config import Config
from metatide.kafka import events_topic
from processors.topic import Topic, TopicClient


def find_topic(config: Config) -> Topic:
    """Asks the brokers for the topic."""
    where = events_topic(config)
    return TopicClient(where.servers, where.name, where.security).describe()
