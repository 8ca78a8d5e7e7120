"""Sessions of Hive itself, as HiveServer2 keeps one for each of its clients.

Hive's `Driver` runs each statement, as it does within HiveServer2, whose own jar isn't to be had in
all repositories; Tez runs in the same process.
"""

import getpass
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Final, NamedTuple

from py4j.java_gateway import JavaGateway
from py4j.protocol import Py4JJavaError

from metatide.config.paths import cache_dir
from metatide.stack import jars
from metatide.stack.jars import JarSet
from query_api.thrift.java.gateway import OPENED
from state.folders import make_folder
from tests.support.engines.sql import Answer
from tests.support.hive.class_files import empty_class
from tests.support.hive.client import log_in_by_keytab
from tests.support.hive.hms_client import CAPABILITIES
from tests.support.hive.java import hive_java

RELEASE: Final = "4.2.0"
_SETS = Path(__file__).parents[1] / "jarsets"
_OPTIONS = (
    *("-Xms1g", "-Xmx1g", "-Xmn600m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"),
    "-XX:+ExitOnOutOfMemoryError",
    *("-Dlog4j2.level=OFF", "-XX:+DisplayVMOutputToStderr"),
    *OPENED,
)
# Hadoop's client packages name these in signatures of methods, but don't have them.
_ABSENT = tuple(
    f"org/apache/hadoop/shaded/org/apache/zookeeper/{name}"
    for name in ("client/ZKClientConfig", "common/ClientX509Util")
)
_SETTINGS: Final = {
    "fs.defaultFS": "file:///",
    "hive.execution.engine": "tez",
    "tez.local.mode": "true",
    "tez.local.mode.without.network": "true",
    "tez.am.webservice.enable": "false",
    "tez.ignore.lib.uris": "true",
    "tez.runtime.optimize.local.fetch": "true",
    # Each task copies Hive's own jar: not in pieces of 512 bytes, each with a checksum.
    "file.bytes-per-checksum": "1048576",
    "io.file.buffer.size": "1048576",
    "tez.runtime.io.sort.mb": "8",
    "tez.runtime.unordered.output.buffer.size-mb": "8",
    "hive.tez.container.size": "256",
    "mapreduce.framework.name": "local",
    "hive.support.concurrency": "true",
    "hive.txn.manager": "org.apache.hadoop.hive.ql.lockmgr.DbTxnManager",
    "hive.compute.query.using.stats": "true",
    # Otherwise a process compiles one statement at a time.
    "hive.driver.parallel.compilation": "true",
    # A result that Hive itself keeps would ask the metastore nothing.
    "hive.query.results.cache.enabled": "false",
    "hive.server2.materializedviews.registry.impl": "DUMMY",
    "hive.security.authorization.enabled": "false",
}
_FOLDERS: Final = {
    "hive.exec.scratchdir": "scratch",
    "hive.exec.local.scratchdir": "local",
    "hive.querylog.location": "querylog",
    "hive.downloaded.resources.dir": "resources",
    "hive.user.install.directory": "install",
    "hive.jar.directory": "install",
    "tez.staging-dir": "staging",
    "mapred.local.dir": "mapred",
}

# Hive's planner fails with it now and then, whatever its metastore is, before anything is done.
_RACE: Final = "SemanticException: java.util.ConcurrentModificationException"
_RACES_MAX: Final = 5


class Login(NamedTuple):
    """How Hive logs in at its metastore."""

    properties: Mapping[str, str] = MappingProxyType({})
    java_options: tuple[str, ...] = ()
    classes: tuple[Path, ...] = ()
    principal: str = ""
    """The principal that has a ticket, if one is needed."""
    keytab: Path = Path()


NO_LOGIN: Final = Login()


class HiveSession:
    """A session with transactions of its own. Another thread may use another one."""

    def __init__(self, java: JavaGateway, database: str) -> None:
        # Hive keeps a session's state in its thread, and each gateway has one.
        self._java = JavaGateway(gateway_parameters=java.gateway_parameters)
        self._ql = self._java.jvm.org.apache.hadoop.hive.ql
        conf = self._java.jvm.org.apache.hadoop.hive.conf.HiveConf()
        self._state = self._ql.session.SessionState(conf, getpass.getuser())
        self._ql.session.SessionState.start(self._state)
        self.rows(f"USE {database}")

    def close(self) -> None:
        self._java.close()

    def ask(self, statement: str) -> Answer:
        """Runs a statement to its end."""
        for _ in range(_RACES_MAX):
            answer = self._ask(statement)
            if answer.error is None or _RACE not in answer.error:
                break
        return answer

    def _ask(self, statement: str) -> Answer:
        driver = self._ql.DriverFactory.newDriver(self._state.getConf())
        try:
            driver.run(statement)
            rows: list[list[str]] = []
            page = self._java.jvm.java.util.ArrayList()
            while driver.getResults(page):
                rows += [[str(row)] for row in page]
                page = self._java.jvm.java.util.ArrayList()
            return Answer(rows=tuple(rows))
        except Py4JJavaError as failed:
            return Answer(error=str(failed.java_exception.getMessage()))
        finally:
            driver.close()
            driver.destroy()

    def rows(self, statement: str) -> list[str]:
        """The rows of a statement that must succeed, sorted."""
        answer = self.ask(statement)
        assert answer.error is None, f"{statement}: {answer.error}"
        return sorted(row for (row,) in answer.rows)

    def compact(self) -> None:
        """Performs the compaction that was asked for first, as a worker of HiveServer2 does."""
        worker = self._ql.txn.compactor.Worker()
        worker.setConf(self._state.getConf())
        # One that is told to stop does one more.
        worker.init(self._java.jvm.java.util.concurrent.atomic.AtomicBoolean(True))
        worker.run()


class HiveProcess:
    """A process of Hive, which ends its sessions."""

    def __init__(self, java: JavaGateway, sessions: ExitStack) -> None:
        self._java = java
        self._sessions = sessions

    def session(self, database: str) -> HiveSession:
        session = HiveSession(self._java, database)
        self._sessions.callback(session.close)
        return session


@contextmanager
def hive_process(
    address: str, warehouse: Path, folder: Path, login: Login = NO_LOGIN
) -> Iterator[HiveProcess]:
    """A process for sessions whose metastore is at `address`."""
    engine = jars.install(JarSet.load("hive-engine", _SETS), cache_dir() / "jars")
    make_folder(folder)
    settings = {
        **_SETTINGS,
        **{key: str(folder / name) for key, name in _FOLDERS.items()},
        "metastore.thrift.uris": address,
        "metastore.warehouse.dir": f"file:{warehouse / 'managed'}",
        "metastore.warehouse.external.dir": f"file:{warehouse / 'external'}",
        **login.properties,
    }
    properties = "".join(
        f"<property><name>{key}</name><value>{value}</value></property>"
        for key, value in settings.items()
    )
    (folder / "hive-site.xml").write_text(f"<configuration>{properties}</configuration>")
    for name in _ABSENT:
        path = folder / f"{name}.class"
        make_folder(path.parent)
        path.write_bytes(empty_class(name))
    options, classes = (*_OPTIONS, *login.java_options), (*login.classes, folder, engine / "*")
    with hive_java(options, classes, folder=folder) as java, ExitStack() as sessions:
        if login.principal:
            log_in_by_keytab(java, login.principal, login.keytab, login.properties)
        _begin(java)
        yield HiveProcess(java, sessions)


def _begin(java: JavaGateway) -> None:
    """Does what HiveServer2 does as it starts."""
    names = java.new_array(java.jvm.java.lang.String, len(CAPABILITIES))
    for index, name in enumerate(CAPABILITIES):
        names[index] = name
    hive = java.jvm.org.apache.hadoop.hive
    hive.metastore.HiveMetaStoreClient.setProcessorIdentifier(f"HiveServer2#{RELEASE}@localhost")
    hive.metastore.HiveMetaStoreClient.setProcessorCapabilities(names)
    hive.ql.metadata.HiveMetaStoreClientWithLocalCache.init(hive.conf.HiveConf())
