"""The table of all processes of a stack."""

import sys
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import httpx
import sqlalchemy as sa

from metatide.advertised import joined, near
from metatide.config import KEYS, Config, Effective
from metatide.stack.kafka import Kafka
from metatide.stack.kdc import Kdc
from metatide.stack.kept_secret import WORKERS_SECRET, keep_secret
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
        self._place = joined(near(host), port)

    @property
    def address(self) -> str:
        return f"{self._scheme}://{self._place}"

    def prepare(self) -> Launch:
        return self._launch

    def answers(self) -> bool:
        """Whether it responds at all; it needn't be ready, as it may have to wait for others."""
        try:
            _PROBE.get(f"{self.address}/healthz")
        except httpx.TransportError:
            return False
        return True


class _Backends(NamedTuple):
    """What Metatide's own processes work on."""

    services: list[Service]
    """Those that this stack runs itself."""
    brokers: str
    database: str
    metastore: str | None


def services(effective: Effective, ports: Ports) -> list[Service]:
    """The services of this configuration, in display order.

    Metatide's own processes take their configuration from the environment.
    """
    config = effective.config
    realm = Realm(config.data_dir) if config.secure else None
    backends = _backends(config, ports, realm)
    port = config.http.port or ports.take("http")
    connect_port = config.connect.port or ports.take("connect")
    environment = _environment(effective, backends, realm) | {
        "METATIDE_HTTP_PORT": str(port),
        "METATIDE_CONNECT_PORT": str(connect_port),
    }
    without_images = {name: text for name, text in environment.items() if name != _IMAGES_URL}
    speaks_thrift = (
        backends.metastore is not None or config.thrift.port is not None or config.secure
    )
    web = ("metatide.stack.web", str(config.data_dir))
    return [
        *backends.services,
        _connector(config, connect_port, without_images),
        *_workers(config, ports, environment, speaks_thrift=speaks_thrift),
        Ours("http", web, config.http.host, port, without_images),
    ]


def _backends(config: Config, ports: Ports, realm: Realm | None) -> _Backends:
    """The services that Metatide works on: its own where the configuration names no others."""
    own: list[Service] = []
    brokers: str | None = config.kafka.bootstrap_servers
    if brokers is None:
        kafka = Kafka(config.data_dir / "kafka", ports)
        own.append(kafka)
        brokers = kafka.address
    database = config.database.full_url
    if database is None:
        postgres = Postgres(
            config.data_dir / "postgres", ports, warehouse=config.data_dir / "warehouse"
        )
        own.append(postgres)
        database = postgres.url().render_as_string(hide_password=False)
    if realm is not None:
        own.append(Kdc(realm.folder, ports, REALM, realm.keytabs))
    upstream: str | None = config.upstream.url
    if config.metastore:
        metastore = _metastore(config, ports, sa.make_url(database), realm)
        own.append(metastore)
        upstream = upstream or metastore.address
    return _Backends(own, brokers, database, upstream)


def _environment(effective: Effective, backends: _Backends, realm: Realm | None) -> dict[str, str]:
    """The configuration of Metatide's own processes."""
    config = effective.config
    environment = as_environment(effective) | {
        "METATIDE_KAFKA_BOOTSTRAP_SERVERS": backends.brokers,
        "METATIDE_DATABASE_URL": backends.database,
        "METATIDE_DATABASE_PASSWORD": "",
        "METATIDE_DATABASE_PASSWORD_FILE": "",
    }
    if realm is not None:
        environment |= _logins(config, realm)
    if backends.metastore is not None:
        environment["METATIDE_UPSTREAM_URL"] = backends.metastore
    if config.metastore and config.thrift.hive_classpath is None:
        classpath, java = own_classes()
        environment["METATIDE_THRIFT_HIVE_CLASSPATH"] = classpath
        environment["METATIDE_THRIFT_HIVE_JAVA"] = str(java)
    return environment


def _connector(config: Config, port: int, environment: Mapping[str, str]) -> Ours:
    connect = ("metatide", "connect", "--data-dir", str(config.data_dir))
    return Ours("connect", connect, config.connect.host, port, environment, ("kafka", "postgres"))


def _workers(
    config: Config, ports: Ports, environment: Mapping[str, str], *, speaks_thrift: bool
) -> Iterator[Ours]:
    work = ("metatide", "work", "--data-dir", str(config.data_dir))
    needs = ("kafka", Kdc.name)
    scheme = "http" if config.reads.tls_certificate is None else "https"
    shared = dict(environment)
    if config.worker.secret_file is None:
        secret = config.data_dir / WORKERS_SECRET
        keep_secret(secret)
        shared[_SECRET_FILE] = str(secret)
    for number in range(1, config.workers + 1):
        name = f"worker-{number}"
        port = ports.take(name)
        own = {"METATIDE_WORKER_NAME": name, "METATIDE_WORKER_PORT": str(port)}
        thrift = None
        if speaks_thrift:
            # The configured port goes to the first worker. That suffices: each worker answers for
            # all.
            configured_port = config.thrift.port if number == 1 else None
            thrift_port = configured_port or ports.take(f"{name}-thrift")
            own["METATIDE_THRIFT_PORT"] = str(thrift_port)
            if config.thrift.http_port is not None and number > 1:
                own["METATIDE_THRIFT_HTTP_PORT"] = "0"
            thrift = f"thrift://{joined(_thrift_host(config), thrift_port)}"
        yield Ours(
            name, work, config.worker.host, port, shared | own, needs, scheme, thrift, ALL_SECRETS
        )


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
    return near(config.thrift.host)


def as_environment(effective: Effective) -> dict[str, str]:
    """The configuration of servers as environment variables."""
    return {
        setting.key.variable: str(setting.value).lower()
        if isinstance(setting.value, bool)
        else str(setting.value)
        for setting in effective.settings
        if setting.value is not None and not setting.key.name.startswith("client.")
    }
