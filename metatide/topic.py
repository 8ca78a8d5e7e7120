"""The events topic of the configuration, or of a running stack."""

import time

import structlog

from hive.errors import InputError, NoKdcError
from metatide.config import Config
from metatide.stack.running import kafka_of, missing
from state.topic import Topic, TopicClient
from state.topic.waiting import POLL_S, Waiting

log = structlog.get_logger(__name__)


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


def await_ticket(config: Config) -> None:
    """Waits as long as brokers want a ticket and no key distribution centre answers: an
    unattended process must not exit because of that.
    """
    events, waiting = events_topic(config), Waiting(log, "a ticket of Kerberos")
    while True:
        try:
            events.admin()
        except NoKdcError as error:
            waiting.because(error)
            time.sleep(POLL_S)
        else:
            return
