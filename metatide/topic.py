"""The events topic of the configuration, or of a running stack."""

from hive.errors import InputError
from metatide.config import Config
from metatide.doctor import find_target
from state.topic import Topic, TopicClient


def events_topic(config: Config) -> Topic:
    """The events topic as configured, on the configured brokers or those of a running stack."""
    servers = find_target(config).kafka
    if servers is None:
        raise InputError("no Kafka: start `metatide up`, or give one with --kafka HOST:PORT")
    kafka = config.kafka
    return Topic(servers, kafka.topic, kafka.partitions, kafka.security)


def find_topic(config: Config) -> Topic:
    """The events topic as the brokers describe it, which is how workers use it."""
    where = events_topic(config)
    return TopicClient(where.servers, where.name, where.security).describe()
