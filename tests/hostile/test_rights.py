"""What operators' commands need of a broker that checks rights: nobody must join the group."""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaError
from confluent_kafka.admin._acl import AclBinding, AclOperation, AclPermissionType
from confluent_kafka.admin._resource import ResourcePatternType, ResourceType

from metatide.config import load
from metatide.stack.ports import Ports
from state.topic import TopicClient
from tests.support.kafka.guarded import GuardedKafka
from tests.support.processes import open_folder, running
from tests.support.stacks import Stack, stack

pytestmark = [pytest.mark.slow, pytest.mark.by_turns(2, of="hostile")]

TOPIC, GROUP = "rights", "rights"
OWNER, OPERATOR = "owner", "operator"
RIGHTS = (
    (ResourceType.TOPIC, TOPIC, AclOperation.DESCRIBE),
    (ResourceType.TOPIC, TOPIC, AclOperation.DESCRIBE_CONFIGS),
    (ResourceType.TOPIC, TOPIC, AclOperation.READ),
    (ResourceType.TOPIC, f"{TOPIC}.heartbeats", AclOperation.DESCRIBE),
    (ResourceType.TOPIC, f"{TOPIC}.heartbeats", AclOperation.READ),
    (ResourceType.TOPIC, f"{TOPIC}.dead-letter", AclOperation.DESCRIBE),
    (ResourceType.TOPIC, f"{TOPIC}.dead-letter", AclOperation.READ),
    (ResourceType.GROUP, GROUP, AclOperation.DESCRIBE),
    (ResourceType.GROUP, f"{TOPIC}.none", AclOperation.DESCRIBE),
)
COMMANDS = (
    ("status", "--content"),
    ("topic", "show"),
    ("topic", "export"),
    ("events",),
    ("events", "--dead-letters"),
    ("rebuild",),
    ("admin", "show"),
    ("admin", "pause"),
    ("admin", "resume"),
    ("audit",),
    ("doctor",),
)


class StrictKafka(GuardedKafka):
    """A broker at which each user may do only what it was given the right to."""

    def __init__(self, folder: Path, ports: Ports) -> None:
        super().__init__(folder, ports, (OWNER, OPERATOR))

    def environment(self, user: str) -> dict[str, str]:
        return {**super().environment(user), "METATIDE_KAFKA_TOPIC": TOPIC}

    def settings(self) -> Mapping[str, object]:
        return {
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": f"User:{OWNER};User:ANONYMOUS",
        }


@pytest.fixture(scope="module")
def up() -> Iterator[tuple[Stack, Mapping[str, str]]]:
    """A stack of the owner, and the environment of an operator."""
    with open_folder() as folder:
        kafka = StrictKafka(folder, Ports(folder / "ports.json"))
        with (
            running(kafka, folder / "log"),
            stack(folder / "data", "--kafka", kafka.address, **kafka.environment(OWNER)) as it,
        ):
            it.until_live("worker-1")
            security = load(environ=kafka.environment(OWNER)).config.kafka.security
            admin = TopicClient(kafka.address, TOPIC, security).describe().admin()
            bindings = [
                AclBinding(
                    kind,
                    name,
                    ResourcePatternType.LITERAL,
                    f"User:{OPERATOR}",
                    "*",
                    operation,
                    AclPermissionType.ALLOW,
                )
                for kind, name, operation in RIGHTS
            ]
            for created in admin.create_acls(bindings).values():
                created.result(30)
            yield it, kafka.environment(OPERATOR)


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_an_operators_command_needs_no_membership(
    up: tuple[Stack, Mapping[str, str]], command: tuple[str, ...]
) -> None:
    own = {"METATIDE_DATA_DIR": str(up[0].folder), "METATIDE_WORKER_NAME": "another"}
    environment = {**os.environ, **own, **up[1]}
    done = subprocess.run(
        [sys.executable, "-m", "metatide", *command],
        env=environment,
        check=False,
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_an_operator_may_not_join(up: tuple[Stack, Mapping[str, str]]) -> None:
    config = load(environ=up[1]).config.kafka
    consumer = Consumer(
        {"bootstrap.servers": config.bootstrap_servers, "group.id": GROUP, **config.security}
    )
    try:
        consumer.subscribe([TOPIC])
        message = consumer.poll(60)
        assert message is not None
        error = message.error()
        assert error is not None
        assert error.code() == KafkaError.GROUP_AUTHORIZATION_FAILED
    finally:
        consumer.close()
