"""Every process of a stack, in one table."""

import sys
from collections.abc import Mapping
from pathlib import Path

import httpx
import sqlalchemy as sa

from metatide.config import Effective
from metatide.stack.kafka import Kafka
from metatide.stack.machine import ANY, LOOPBACK
from metatide.stack.metastore import Metastore
from metatide.stack.metastore import Settings as MetastoreSettings
from metatide.stack.ports import Ports
from metatide.stack.postgres import Postgres
from metatide.stack.service import Launch, Service

_PROBE_TIMEOUT_S = 2.0


class Web(Service):
    """The HTTP server."""

    name = "http"

    def __init__(self, host: str, port: int, folder: Path, environment: Mapping[str, str]) -> None:
        self._host = LOOPBACK if host == ANY else host
        self._port = port
        self._folder = folder
        self._environment = environment

    @property
    def address(self) -> str:
        return f"http://{self._host}:{self._port}"

    def prepare(self) -> Launch:
        argv = (sys.executable, "-m", "metatide.stack.web", str(self._folder))
        return Launch(argv, self._environment)

    def answers(self) -> bool:
        try:
            return httpx.get(f"{self.address}/healthz", timeout=_PROBE_TIMEOUT_S).is_success
        except httpx.TransportError:
            return False


class Connect(Service):
    """The connector."""

    name = "connect"
    needs = ("kafka", "postgres")

    def __init__(self, host: str, port: int, folder: Path, environment: Mapping[str, str]) -> None:
        self._host = LOOPBACK if host == ANY else host
        self._port = port
        self._folder = folder
        self._environment = environment

    @property
    def address(self) -> str:
        return f"http://{self._host}:{self._port}"

    def prepare(self) -> Launch:
        argv = (sys.executable, "-m", "metatide", "connect", "--data-dir", str(self._folder))
        return Launch(argv, self._environment)

    def answers(self) -> bool:
        """Also while it waits for a database without a metastore's tables, as it may for long."""
        try:
            httpx.get(f"{self.address}/healthz", timeout=_PROBE_TIMEOUT_S)
        except httpx.TransportError:
            return False
        return True


class Worker(Service):
    """One worker of several."""

    needs = ("kafka",)

    def __init__(
        self, name: str, host: str, port: int, folder: Path, environment: Mapping[str, str]
    ) -> None:
        self.name = name
        self._host = LOOPBACK if host == ANY else host
        self._port = port
        self._folder = folder
        self._environment = dict(environment) | {
            "METATIDE_WORKER_NAME": name,
            "METATIDE_WORKER_PORT": str(port),
        }

    @property
    def address(self) -> str:
        return f"http://{self._host}:{self._port}"

    def prepare(self) -> Launch:
        argv = (sys.executable, "-m", "metatide", "work", "--data-dir", str(self._folder))
        return Launch(argv, self._environment)

    def answers(self) -> bool:
        """Also while it waits for its topic, which a connector makes."""
        try:
            return httpx.get(f"{self.address}/healthz", timeout=_PROBE_TIMEOUT_S).is_success
        except httpx.TransportError:
            return False


def services(effective: Effective, ports: Ports) -> list[Service]:
    """What runs for this configuration, in the order in which it is shown.

    To add a process is to append it here. Processes of ours take their configuration from the
    environment in `settings`.
    """
    config = effective.config
    found: list[Service] = []
    servers: str | None = config.kafka.bootstrap_servers
    if servers is None:
        kafka = Kafka(config.data_dir / "kafka", ports)
        found.append(kafka)
        servers = kafka.address
    url = config.database.full_url
    if url is None:
        postgres = Postgres(config.data_dir / "postgres", ports)
        found.append(postgres)
        url = postgres.url().render_as_string(hide_password=False)
    if config.metastore:
        metastore = MetastoreSettings(sa.make_url(url), config.data_dir / "warehouse")
        found.append(Metastore(config.data_dir / "metastore", ports, metastore))
    port = config.http.port or ports.take("http")
    connect_port = config.connect.port or ports.take("connect")
    settings = as_environment(effective) | {
        "METATIDE_KAFKA_BOOTSTRAP_SERVERS": servers,
        "METATIDE_DATABASE_URL": url,
        "METATIDE_DATABASE_PASSWORD": "",
        "METATIDE_DATABASE_PASSWORD_FILE": "",
        "METATIDE_HTTP_PORT": str(port),
        "METATIDE_CONNECT_PORT": str(connect_port),
    }
    found.append(Connect(config.connect.host, connect_port, config.data_dir, settings))
    for number in range(1, config.workers + 1):
        name = f"worker-{number}"
        host = config.worker.host
        found.append(Worker(name, host, ports.take(name), config.data_dir, settings))
    found.append(Web(config.http.host, port, config.data_dir, settings))
    return found


def as_environment(effective: Effective) -> dict[str, str]:
    """The whole configuration as the variables that say the same to a process of ours."""
    return {
        one.key.variable: str(one.value).lower() if isinstance(one.value, bool) else str(one.value)
        for one in effective.settings
        if one.value is not None
    }
