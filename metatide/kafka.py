"""The events topic from the configuration, or from a running stack."""

from connectors.kafka import Topic
from hive.errors import InputError
from metatide.config import Config
from metatide.doctor import find_target


def events_topic(config: Config) -> Topic:
    """The topic that records are written to and read from."""
    servers = find_target(config).kafka
    if servers is None:
        raise InputError("no Kafka: run `metatide up`, or give --kafka HOST:PORT")
    kafka = config.kafka
    return Topic(servers, kafka.topic, kafka.partitions, kafka.security)
