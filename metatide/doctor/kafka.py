"""Checks of the broker and the topic."""

import importlib.util
import re
import socket
from collections.abc import Iterable, Mapping
from typing import Final

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    ConfigResource,
    ResourceType,
)

from connectors.topic_admin import KEEPING, keeping_command
from metatide.doctor.finding import Finding, failed, ok, unchecked
from metatide.doctor.target import Target
from metatide.stack import jars
from processors.consumer.login import login_fault
from state.topic.last_error import LastError
from state.topic.settings import admin_client, reason

TIMEOUT_S = 5.0
RECORD_BYTES_MIN = 1_000_000
"""The size that a record may have; Kafka's default limit, 1,048,588 bytes, suffices."""
_COPIES = 3
_NAMED: Final = re.compile(r"(\[?([^\s\]]+?)\]?:(\d+))/\d+: ")
"""How librdkafka's errors about a broker begin that another one has named."""
_START = "start `metatide up` or give --kafka"
_NONE = "none is configured and none is running here"
_UNNAMED = unchecked(_NONE, _START)
_COMPARE = (
    "start the broker, or compare the login (kafka.*) with what other libraries say here, and with "
    "the brokers' log"
)


def reachable(target: Target) -> Finding:
    if target.kafka is None:
        return failed(_NONE, _START)
    errors = LastError()
    client = admin_client(target.kafka, target.security, errors.logger())
    try:
        brokers = client.list_topics(timeout=TIMEOUT_S).brokers
    except KafkaException as error:
        # The library hands out its log only now.
        client.poll(0)
        # It may have left a broker for the name by which that one calls itself.
        return _misnamed(target.kafka, _named_in(errors.text, target.kafka)) or failed(
            f"{target.kafka} doesn't answer librdkafka: {errors.text or reason(error)}",
            "start the broker, or correct kafka.bootstrap_servers (--kafka) or the login (kafka.*)",
        )
    addresses = [(str(broker.host), broker.port) for broker in brokers.values()]
    misnamed = _misnamed(target.kafka, addresses)
    return misnamed or ok(f"{target.kafka}, {len(brokers)} broker{'s' if len(brokers) > 1 else ''}")


def _named_in(text: str, servers: str) -> list[tuple[str, int]]:
    """The address in an error of librdkafka, if it is none by which we have called a broker."""
    named = _NAMED.match(text)
    if named is None:
        return []
    address, host, port = named.groups()
    ours = [server.strip() for server in servers.split(",")]
    return [] if address in ours else [(host, int(port))]


def _misnamed(servers: str, addresses: Iterable[tuple[str, int]]) -> Finding | None:
    """What there is to say if there is no way to one of the addresses that brokers tell."""
    for host, port in addresses:
        try:
            socket.create_connection((host, port), TIMEOUT_S).close()
        except OSError as error:
            return failed(
                f"{servers} answers, but it calls a broker {host}:{port}, which can't be reached: "
                f"{error.strerror or error}",
                "set advertised.listeners of each broker to an address that is reached from here, "
                "from connectors and from workers",
            )
    return None


def reachable_by_workers(target: Target) -> Finding:
    """Whether aiokafka, by which workers follow the topic, reaches the brokers."""
    if target.kafka is None:
        return _UNNAMED
    try:
        fault = login_fault(target.kafka, target.security, TIMEOUT_S)
    except OSError as error:
        return _unusable("aiokafka, by which workers follow,", error)
    if fault is not None:
        return failed(
            f"{target.kafka} doesn't answer aiokafka, by which workers follow: {fault}", _COMPARE
        )
    return ok(f"{target.kafka}, by aiokafka")


def reachable_by_spark(target: Target) -> Finding:
    """Whether Kafka's Java client, by which Spark reads the topic, reaches the brokers."""
    if target.kafka is None:
        return _UNNAMED
    if not target.security or target.security == {"security.protocol": "plaintext"}:
        return ok("needs no login, so that it differs in none")
    folder = jars.path_of("spark")
    if importlib.util.find_spec("pyspark") is None or not folder.is_dir():
        return unchecked(
            "Spark's source of Kafka records isn't here",
            "if Spark shall read them: python -m metatide.stack.jars fetch spark",
        )
    from metatide.spark.login import login_fault as java_login_fault

    try:
        fault = java_login_fault(target.kafka, target.security, folder, TIMEOUT_S)
    except OSError as error:
        return _unusable("Kafka's Java client, by which Spark reads,", error)
    if fault is not None:
        return failed(
            f"{target.kafka} doesn't answer Kafka's Java client, by which Spark reads: {fault}",
            _COMPARE,
        )
    return ok(f"{target.kafka}, by Kafka's Java client")


def record_size(target: Target) -> Finding:
    client = _client(target)
    broker = min(client.list_topics(timeout=TIMEOUT_S).brokers)
    try:
        settings = _settings(client, ResourceType.BROKER, str(broker))
    except KafkaException as error:
        if error.args[0].code() != KafkaError.CLUSTER_AUTHORIZATION_FAILED:
            raise
        return unchecked(
            "the brokers don't tell their settings to this login",
            "nothing: the topic's own limit decides; or grant DescribeConfigs on the cluster",
        )
    return _judged_size("the broker", "message.max.bytes", settings)


def topic(target: Target) -> Finding:
    client = _client(target)
    cluster = client.list_topics(timeout=TIMEOUT_S)
    metadata = cluster.topics.get(target.topic)
    if metadata is None:
        return unchecked(
            f"there is no topic {target.topic} yet", "start a connector, which creates it"
        )
    settings = _settings(client, ResourceType.TOPIC, target.topic)
    if len(metadata.partitions) != target.partitions:
        return failed(
            f"{target.topic} has {len(metadata.partitions)} partitions, the configuration says "
            f"{target.partitions}",
            f"stop all connectors, then set kafka.partitions = {len(metadata.partitions)}: a shard "
            "cannot be split",
        )
    losing = [name for name, value in KEEPING.items() if settings[name] != value]
    if losing:
        shown = ", ".join(f"{name}={settings[name]}" for name in losing)
        return failed(
            f"{target.topic} loses records that the cache is rebuilt from: {shown}",
            keeping_command(target.topic, losing),
        )
    size = _judged_size(target.topic, "max.message.bytes", settings)
    if size.remedy:
        return size
    copies = min(len(partition.replicas) for partition in metadata.partitions.values())
    in_sync_min = int(settings["min.insync.replicas"])
    return judged_copies(target.topic, copies, len(cluster.brokers), in_sync_min) or ok(
        f"{target.topic}, {target.partitions} partitions, kept"
    )


def judged_copies(topic: str, copies: int, brokers: int, in_sync_min: int) -> Finding | None:
    """What is wrong with how many brokers have each record."""
    if copies == 1 < brokers:
        return failed(
            f"one of {brokers} brokers alone has each record of {topic}, which goes with its disk",
            f"kafka-reassign-partitions.sh for {topic}, {topic}.signals, {topic}.heartbeats and "
            f"{topic}.dead-letter, to {min(_COPIES, brokers)} brokers each; and set the brokers' "
            "default.replication.factor so",
        )
    if in_sync_min >= copies > 1:
        return failed(
            f"{topic} can't be written while one of its {copies} replicas is away: "
            f"min.insync.replicas={in_sync_min}",
            f"kafka-configs.sh --alter --topic {topic} "
            f"--add-config min.insync.replicas={copies - 1}",
        )
    return None


def _unusable(library: str, error: OSError) -> Finding:
    return failed(f"{library} can't be set up: {error}", "correct the files that kafka.ssl_… names")


def _client(target: Target) -> AdminClient:
    assert target.kafka is not None
    return admin_client(target.kafka, target.security)


def _settings(client: AdminClient, kind: ResourceType, name: str) -> dict[str, str]:
    resource = ConfigResource(kind, name)
    [answer] = client.describe_configs([resource], request_timeout=TIMEOUT_S).values()
    return {entry.name: str(entry.value) for entry in answer.result().values()}


def _judged_size(owner: str, name: str, settings: Mapping[str, str]) -> Finding:
    size_bytes = int(settings[name])
    if size_bytes < RECORD_BYTES_MIN:
        return failed(
            f"{name} of {owner} is {size_bytes:,}",
            f"set it to {RECORD_BYTES_MIN} or more, better 16 MiB",
        )
    return ok(f"{name} of {owner} is {size_bytes:,}")
