"""The events topic as the configuration, or else a running stack, has it."""

from connectors.kafka_clients import Topic
from hive.errors import InputError
from metatide.config import Config
from metatide.doctor import find_target


def events_topic(config: Config) -> Topic:
    """Where records go to and come from."""
    servers = find_target(config).kafka
    if servers is None:
        raise InputError("no Kafka: start `metatide up`, or give one with --kafka HOST:PORT")
    kafka = config.kafka
    return Topic(servers, kafka.topic, kafka.partitions, kafka.security)
