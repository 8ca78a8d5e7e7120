"""The table of all processes of a stack."""

import sys
from collections.abc import Mapping

import httpx
import sqlalchemy as sa

from metatide.config import KEYS, Config, Effective
from metatide.stack.kafka import Kafka
from metatide.stack.kdc import Kdc
from metatide.stack.kept_secret import WORKERS_SECRET, keep_secret
from metatide.stack.machine import ANY, LOOPBACK
from metatide.stack.metastore import Kerberos, Metastore, own_classes
from metatide.stack.metastore import Settings as MetastoreSettings
from metatide.stack.ports import Ports
from metatide.stack.postgres import Postgres
from metatide.stack.realm import HOST, REALM, SERVICE, WORKERS_NAME, Realm
from metatide.stack.service import ALL_SECRETS, DATABASE_SECRETS, Launch, Service

# Created once and without certificates, because loading them takes longer than the rest of a probe.
# Proxies are ignored: one that the environment names couldn't reach this machine's ports.
_PROBE = httpx.Client(timeout=2.0, trust_env=False, verify=False)
# It may have the keys of an object store, which only workers use.
_IMAGES_URL = KEYS["images.url"].variable
_SECRET_FILE = KEYS["worker.secret_file"].variable


class Ours(Service):
    """A process of Metatide itself, run by `python -m`, with a health check over HTTP."""

    # A worker leaves its group, then answers what it was asked over HTTP, then over Thrift.
    stop_timeout_s = 30.0

    def __init__(
        self,
        name: str,
        arguments: tuple[str, ...],
        host: str,
        port: int,
        environment: Mapping[str, str],
        needs: tuple[str, ...] = (),
        scheme: str = "http",
        thrift: str | None = None,
        secrets: tuple[str, ...] = DATABASE_SECRETS,
    ) -> None:
        """`thrift` is the address of its Thrift server, if it has one; `secrets` as in `Launch`."""
        self.name = name
        self._scheme = scheme
        self.needs = needs
        self.thrift = thrift
        command = (sys.executable, "-m", *arguments)
        self._launch = Launch(command, environment, secrets=secrets)
        self._host = LOOPBACK if host == ANY else host
        self._port = port

    @property
    def address(self) -> str:
        return f"{self._scheme}://{self._host}:{self._port}"

    def prepare(self) -> Launch:
        return self._launch

    def answers(self) -> bool:
        """Whether it responds at all; it needn't be ready, as it may have to wait for others."""
        try:
            _PROBE.get(f"{self.address}/healthz")
        except httpx.TransportError:
            return False
        return True


def services(effective: Effective, ports: Ports) -> list[Service]:
    """The services of this configuration, in display order.

    To add a process, append it here. Metatide's own processes take their configuration from the
    environment in `settings`.
    """
    config = effective.config
    processes: list[Service] = []
    servers: str | None = config.kafka.bootstrap_servers
    if servers is None:
        kafka = Kafka(config.data_dir / "kafka", ports)
        processes.append(kafka)
        servers = kafka.address
    url = config.database.full_url
    if url is None:
        postgres = Postgres(
            config.data_dir / "postgres", ports, warehouse=config.data_dir / "warehouse"
        )
        processes.append(postgres)
        url = postgres.url().render_as_string(hide_password=False)
    realm = Realm(config.data_dir) if config.secure else None
    if realm is not None:
        processes.append(Kdc(realm.folder, ports, REALM, realm.keytabs))
    upstream: str | None = config.upstream.url
    if config.metastore:
        metastore = _metastore(config, ports, sa.make_url(url), realm)
        processes.append(metastore)
        upstream = upstream or metastore.address
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
    if realm is not None:
        settings |= _logins(config, realm)
    if upstream is not None:
        settings["METATIDE_UPSTREAM_URL"] = upstream
    if config.metastore and config.thrift.hive_classpath is None:
        classpath, java = own_classes()
        settings["METATIDE_THRIFT_HIVE_CLASSPATH"] = classpath
        settings["METATIDE_THRIFT_HIVE_JAVA"] = str(java)
    speaks_thrift = upstream is not None or config.thrift.port is not None or config.secure
    folder = str(config.data_dir)
    connect = ("metatide", "connect", "--data-dir", folder)
    host = config.connect.host
    without_images = {name: text for name, text in settings.items() if name != _IMAGES_URL}
    needs: tuple[str, ...] = ("kafka", "postgres")
    processes.append(Ours("connect", connect, host, connect_port, without_images, needs))
    work = ("metatide", "work", "--data-dir", folder)
    scheme = "http" if config.reads.tls_certificate is None else "https"
    if config.worker.secret_file is None:
        secret = config.data_dir / WORKERS_SECRET
        keep_secret(secret)
        settings[_SECRET_FILE] = str(secret)
    for number in range(1, config.workers + 1):
        name = f"worker-{number}"
        worker_port = ports.take(name)
        own = {"METATIDE_WORKER_NAME": name, "METATIDE_WORKER_PORT": str(worker_port)}
        thrift = None
        if speaks_thrift:
            # The configured port goes to the first worker. That suffices: each worker answers for
            # all.
            configured_port = config.thrift.port if number == 1 else None
            thrift_port = configured_port or ports.take(f"{name}-thrift")
            own["METATIDE_THRIFT_PORT"] = str(thrift_port)
            if config.thrift.http_port is not None and number > 1:
                own["METATIDE_THRIFT_HTTP_PORT"] = "0"
            thrift = f"thrift://{_thrift_host(config)}:{thrift_port}"
        host = config.worker.host
        environment, needs = settings | own, ("kafka", Kdc.name)
        processes.append(
            Ours(name, work, host, worker_port, environment, needs, scheme, thrift, ALL_SECRETS)
        )
    web = ("metatide.stack.web", folder)
    processes.append(Ours("http", web, config.http.host, port, without_images))
    return processes


def _metastore(config: Config, ports: Ports, database: sa.URL, realm: Realm | None) -> Metastore:
    folder, warehouse = config.data_dir / "metastore", config.data_dir / "warehouse"
    if realm is None:
        return Metastore(folder, ports, MetastoreSettings(database, warehouse))
    # Workers act for their clients.
    proxies = f"hadoop.proxyuser.{WORKERS_NAME}"
    hadoop = {f"{proxies}.hosts": "*", f"{proxies}.users": "*"}
    kerberos = Kerberos(SERVICE, realm.service, realm.clients, hadoop)
    settings = MetastoreSettings(database, warehouse, host=HOST, kerberos=kerberos)
    return Metastore(folder, ports, settings)


def _logins(config: Config, realm: Realm) -> dict[str, str]:
    """The environment by which workers check tickets, and show theirs."""
    keys = {f"thrift.{name}": value for name, value in realm.thrift_settings().items()}
    if config.metastore and config.upstream.url is None:
        keys["thrift.delegation_tokens"] = "true"
        keys |= {f"upstream.{name}": value for name, value in realm.upstream_settings().items()}
    logins = {KEYS[name].variable: str(value) for name, value in keys.items()}
    return {**realm.environment, **logins}


def _thrift_host(config: Config) -> str:
    """The host by which clients call workers."""
    if config.secure:
        return HOST
    return LOOPBACK if config.thrift.host == ANY else config.thrift.host


def as_environment(effective: Effective) -> dict[str, str]:
    """The configuration of servers as environment variables."""
    return {
        setting.key.variable: str(setting.value).lower()
        if isinstance(setting.value, bool)
        else str(setting.value)
        for setting in effective.settings
        if setting.value is not None and not setting.key.name.startswith("client.")
    }
