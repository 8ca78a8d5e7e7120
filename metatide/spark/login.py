"""Tries to reach the brokers by Kafka's Java client, through which Spark reads the topic."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyspark
from py4j.java_gateway import GatewayParameters, JavaGateway
from py4j.protocol import Py4JJavaError

from hive.errors import MachineError
from metatide.stack.java import find_java
from processors.spark.kafka_source import java_words
from state.topic.settings import Security

_OPTIONS = ("-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dlog4j2.level=OFF")


def login_fault(servers: str, security: Security, jars: Path, timeout_s: float) -> str | None:
    """Why the client doesn't reach the brokers; None if it does."""
    with _java(jars) as gateway:
        settings = gateway.jvm.java.util.Properties()
        words = java_words(security) | {"bootstrap.servers": servers}
        for name in ("request.timeout.ms", "default.api.timeout.ms"):
            words[name] = str(int(1000 * timeout_s))
        for name, value in words.items():
            settings.setProperty(name, value)
        try:
            client = gateway.jvm.org.apache.kafka.clients.admin.AdminClient.create(settings)
            try:
                client.describeCluster().nodes().get()
            finally:
                client.close()
        except Py4JJavaError as error:
            return _cause(error.java_exception)
    return None


def _cause(error: Any) -> str:
    """What the deepest of nested errors says."""
    while (deeper := error.getCause()) is not None:
        error = deeper
    return f"{error.getClass().getSimpleName()}: {error.getMessage()}"


@contextmanager
def _java(jars: Path) -> Iterator[JavaGateway]:
    """A Java with the client, which ends with the block or with this process."""
    folders = (jars, Path(pyspark.__file__).parent / "jars")
    kerberos = os.environ.get("KRB5_CONFIG")
    command = [
        str(find_java()),
        *_OPTIONS,
        *([] if kerberos is None else [f"-Djava.security.krb5.conf={kerberos}"]),
        *("-cp", ":".join(f"{folder}/*" for folder in folders)),
        *("py4j.GatewayServer", "--die-on-broken-pipe", "--enable-auth", "0"),
    ]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdout is not None
        port, token = process.stdout.readline(), process.stdout.readline().decode().strip()
        if not token:
            raise MachineError(f"{command[0]} doesn't start Kafka's client")
        gateway = JavaGateway(
            gateway_parameters=GatewayParameters(
                port=int(port), auth_token=token, enable_memory_management=False
            )
        )
        try:
            yield gateway
        finally:
            gateway.shutdown()
            process.kill()
