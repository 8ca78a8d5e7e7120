"""The workers of a group, as Kafka knows them, and an HTTP client for them."""

import ssl
from collections.abc import Iterator

import httpx
from confluent_kafka import KafkaException

from hive.errors import InputError, MachineError
from metatide.config import Config
from state.topic import Topic
from state.topic.settings import REQUEST_TIMEOUT_S, reason


def members(topic: Topic, group: str) -> Iterator[tuple[str, str]]:
    """The members' names and addresses, which are in their Kafka client ids."""
    admin = topic.admin()
    try:
        [future] = admin.describe_consumer_groups(
            [group], request_timeout=REQUEST_TIMEOUT_S
        ).values()
        description = future.result()
    except KafkaException as error:
        raise MachineError(f"Kafka at {topic.servers} doesn't answer: {reason(error)}") from error
    for client_id in sorted(member.client_id for member in description.members):
        name, _, address = client_id.partition("@")
        yield name, address


def scheme(config: Config) -> str:
    """The URL scheme of workers."""
    return "http" if config.reads.tls_certificate is None else "https"


def worker_urls(config: Config, topic: Topic, group: str) -> list[str]:
    """The URLs of all workers of a group; raises an error if there are none."""
    urls = [f"{scheme(config)}://{address}" for _, address in members(topic, group)]
    if not urls:
        raise InputError(f"group {group} has no members: start a worker (metatide work)")
    return urls


def worker_client(config: Config, timeout_s: float) -> httpx.Client:
    """A client that trusts the workers' certificates and sends the token of `client.token`."""
    ca, token = config.reads.tls_ca, config.client.token
    return httpx.Client(
        timeout=timeout_s,
        trust_env=False,
        verify=ssl.create_default_context(cafile=ca) if ca else True,
        headers={} if token is None else {"authorization": f"Bearer {token}"},
    )


def json_of(answer: httpx.Response) -> bytes:
    """The body of a response; raises the error if it is a problem."""
    if answer.is_success:
        return answer.content
    try:
        detail = str(answer.json()["detail"])
    except (ValueError, KeyError, TypeError):
        detail = answer.reason_phrase
    kind = InputError if answer.is_client_error else MachineError
    raise kind(f"{answer.url.copy_with(query=None)}: {detail}")
