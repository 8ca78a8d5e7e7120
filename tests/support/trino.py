"""A real Trino, whose catalogs are made by statements."""

import sys
from pathlib import Path

import httpx

from metatide.stack.machine import LOOPBACK
from metatide.stack.ports import Ports
from metatide.stack.service import Launch, Service
from state.folders import make_folder
from tests.support import local_http
from tests.support.javas import java_25
from tests.support.server_archives import unpacked, write_properties

RELEASE = "476"
PLUGINS = ("hive", "iceberg")
_PROBE_TIMEOUT_S = 5.0
_CONFIG = {
    "node.environment": "test",
    "node.bind-ip": LOOPBACK,
    "node.internal-address": LOOPBACK,
    "coordinator": "true",
    "catalog.management": "dynamic",
    "catalog.store": "memory",
    "node-scheduler.include-coordinator": "true",
    "query.max-memory": "512MB",
    "query.max-memory-per-node": "512MB",
    "memory.heap-headroom-per-node": "256MB",
    # Its tables hold a few rows: more threads for each query would only take turns.
    "task.concurrency": "1",
}


class Trino(Service):
    """A Trino of one node, with its own files in `folder`."""

    name = "trino"
    start_timeout_s = 900.0
    stop_timeout_s = 30.0

    def __init__(self, folder: Path) -> None:
        self._folder = make_folder(folder)
        self._port = Ports(folder / "ports.json").take("trino")

    @property
    def address(self) -> str:
        return f"http://{LOOPBACK}:{self._port}"

    def prepare(self) -> Launch:
        server = installed()
        config = self._folder / "config.properties"
        own = {
            "http-server.http.port": str(self._port),
            "discovery.uri": self.address,
            "plugin.dir": str(server / "plugin"),
        }
        write_properties(config, {**_CONFIG, **own})
        levels = self._folder / "log.properties"
        write_properties(
            levels, dict.fromkeys(("io.trino", "io.airlift", "org", "Bootstrap"), "WARN")
        )
        argv = (
            str(java_25()),
            *("-Xmx1536m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"),
            "-XX:+ExitOnOutOfMemoryError",
            "--add-opens=java.base/java.nio=ALL-UNNAMED",
            "-Djdk.attach.allowAttachSelf=true",
            f"-Dnode.data-dir={make_folder(self._folder / 'data')}",
            f"-Dlog.levels-file={levels}",
            f"-Dconfig={config}",
            *("-cp", f"{server / 'lib'}/*"),
            "io.trino.server.TrinoServer",
        )
        return Launch(argv, {"HADOOP_USER_NAME": "hive"})

    def answers(self) -> bool:
        try:
            info = local_http.get(f"{self.address}/v1/info", timeout=_PROBE_TIMEOUT_S).json()
        except (httpx.TransportError, ValueError):
            return False
        return info.get("starting") is False


def installed() -> Path:
    """The folder of the server, which is fetched and unpacked once into the cache."""
    return unpacked("trino", PLUGINS)


if __name__ == "__main__":
    print(installed(), java_25(), file=sys.stderr)
