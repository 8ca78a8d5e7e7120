"""The events topic of the configuration, or of a running stack."""

from hive.errors import InputError
from metatide.config import Config
from metatide.stack.running import kafka_of, missing
from state.topic import Topic, TopicClient


def events_topic(config: Config) -> Topic:
    """The events topic as configured, on the configured brokers or those of a running stack."""
    kafka = kafka_of(config)
    if kafka.bootstrap_servers is None:
        raise InputError(missing("Kafka", "--kafka HOST:PORT", config))
    return Topic(kafka.bootstrap_servers, kafka.topic, kafka.partitions, kafka.security)


def find_topic(config: Config) -> Topic:
    """The events topic as the brokers describe it, which is how workers use it."""
    where = events_topic(config)
    return TopicClient(where.servers, where.name, where.security).describe()
