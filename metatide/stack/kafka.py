"""A Kafka broker in one process, without ZooKeeper, from its Maven artifacts."""

import contextlib
import json
import os
import socket
import uuid
from base64 import urlsafe_b64encode
from pathlib import Path
from typing import Final

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from hive.errors import InputError
from hive.units import MIB
from metatide.stack import jars
from metatide.stack.class_archive import class_options
from metatide.stack.java import find_java
from metatide.stack.machine import LOOPBACK, folder_aside
from metatide.stack.ports import Ports
from metatide.stack.service import Launch, Service, run_tool
from state.folders import make_folder
from state.topic.settings import QUIET, Security, client_settings, reason

MESSAGE_BYTES_MAX = 16 * MIB
PROBE_TIMEOUT_S = 3.0
_HEAP = ("-Xms128m", "-Xmx512m")
_FIRST_COMPILER: Final = "-XX:TieredStopAtLevel=1"

_LOGGING = """\
status = error
appender.out.type = Console
appender.out.name = out
appender.out.layout.type = PatternLayout
appender.out.layout.pattern = %d{ISO8601} %p %c{1} %m%n
rootLogger.level = warn
rootLogger.appenderRef.out.ref = out
"""


class KafkaProbe:
    """Asks the brokers at HOST:PORT for their topics, as a client does."""

    def __init__(self, address: str, security: Security | None = None) -> None:
        settings = client_settings(address, security or {}) | {"reconnect.backoff.max.ms": 500}
        try:
            self._client = AdminClient(settings, logger=QUIET)
        except KafkaException as error:
            raise InputError(f"the settings of [kafka] can't be used: {reason(error)}") from error

    def fault(self, timeout_s: float = PROBE_TIMEOUT_S) -> str | None:
        """Why the brokers don't answer; None if they do."""
        try:
            self._client.list_topics(timeout=timeout_s)
        except KafkaException as error:
            return reason(error)
        return None


class Kafka(Service):
    """A broker with its data in `folder`."""

    name = "kafka"
    jar_sets = ("kafka",)
    stop_timeout_s = 30.0

    def __init__(self, folder: Path, ports: Ports, *, optimizes: bool = False) -> None:
        """`optimizes` says whether Java's optimizing compiler works, for what runs for long.
        Without it, a broker takes 2.5 s of processor time to start instead of 4.3 s, and less for
        each of its first million messages; later, for small ones, up to 1.6 times as much."""
        # Kafka takes a comma for the end of a folder's name, and there is no way to escape it.
        if "," in str(folder):
            raise InputError(
                f"Kafka can't keep its data in {folder}: its name has a comma; choose another "
                "(--data-dir), or name your own brokers (--kafka)"
            )
        self._folder = folder
        self._compiler = () if optimizes else (_FIRST_COMPILER,)
        self._port = ports.take("kafka")
        self._controller_port = ports.take("kafka-controller")

    @property
    def address(self) -> str:
        return f"{LOOPBACK}:{self._port}"

    def prepare(self) -> Launch:
        make_folder(self._folder)
        classes, java = f"{jars.fetch('kafka')}/*", find_java()
        logging_config = self._folder / "log4j2.properties"
        logging_config.write_text(_LOGGING)
        data = self._folder / "data"
        if not data.exists():
            self._format(classes, data)
        config = self._write_config(self._folder / "server.properties", data)
        return Launch(
            (
                str(java),
                *_HEAP,
                *self._compiler,
                "-XX:+ExitOnOutOfMemoryError",
                f"-Dlog4j2.configurationFile={logging_config}",
                f"-Dkafka.logs.dir={self._folder}",
                *class_options("kafka", java, classes),
                "kafka.Kafka",
                str(config),
            )
        )

    def answers(self) -> bool:
        # The port is tried first, because a Kafka client that finds it closed waits before a retry.
        with socket.socket() as probe:
            probe.settimeout(1.0)
            if probe.connect_ex((LOOPBACK, self._port)) != 0:
                return False
        return KafkaProbe(self.address).fault() is None

    def _format(self, classes: str, data: Path) -> None:
        """Formats a folder aside and renames it, so that `data` is never incomplete."""
        aside = folder_aside(data)
        # What a killed run started may still read its own file.
        for left in self._folder.glob("format.*.properties"):
            left.unlink(missing_ok=True)
        config = self._write_config(self._folder / f"format.{aside.name}.properties", aside)
        cluster = urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        # A leading hyphen would be read as an option.
        cluster = cluster.replace("-", "A")
        java = find_java()
        command = [str(java), _FIRST_COMPILER, *class_options("kafka-format", java, classes)]
        command += ["kafka.tools.StorageTool", "format", "-t", cluster, "-c", str(config)]
        run_tool(command, f"Kafka's storage {data} could not be formatted")
        aside.rename(data)
        with contextlib.suppress(FileNotFoundError):
            config.unlink()

    def _write_config(self, path: Path, data: Path) -> Path:
        settings = {
            "process.roles": "broker,controller",
            "node.id": 1,
            "controller.quorum.voters": f"1@{LOOPBACK}:{self._controller_port}",
            "controller.listener.names": "CONTROLLER",
            "listeners": f"PLAINTEXT://{LOOPBACK}:{self._port},"
            f"CONTROLLER://{LOOPBACK}:{self._controller_port}",
            "advertised.listeners": f"PLAINTEXT://{LOOPBACK}:{self._port}",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "log.dirs": data,
            "auto.create.topics.enable": "false",
            # The cache is rebuilt from the topic alone, so its records must never expire.
            "log.retention.ms": -1,
            "message.max.bytes": MESSAGE_BYTES_MAX,
            "replica.fetch.max.bytes": MESSAGE_BYTES_MAX,
            "offsets.topic.replication.factor": 1,
            "offsets.topic.num.partitions": 4,
            "transaction.state.log.replication.factor": 1,
            "transaction.state.log.min.isr": 1,
            "transaction.state.log.num.partitions": 4,
            "share.coordinator.state.topic.replication.factor": 1,
            "share.coordinator.state.topic.min.isr": 1,
            "group.initial.rebalance.delay.ms": 0,
            # After a crash, the broker must wait until its previous session has timed out.
            "broker.session.timeout.ms": 2000,
            "broker.heartbeat.interval.ms": 500,
            "num.recovery.threads.per.data.dir": os.cpu_count() or 1,
        }
        lines = (f"{key}={_escaped(str(value))}\n" for key, value in settings.items())
        path.write_text("".join(lines), encoding="ascii")
        return path


def _escaped(text: str) -> str:
    """A value as Java reads it from a file of properties, which it takes for Latin-1."""
    # JSON's escapes of backslashes and of what isn't ASCII are those of such a file.
    return json.dumps(text)[1:-1]
