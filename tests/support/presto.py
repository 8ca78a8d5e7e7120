"""A real Presto, whose catalogs are files."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import httpx

from metatide.stack.machine import LOOPBACK
from metatide.stack.ports import Ports
from metatide.stack.service import Launch, Service
from state.folders import make_folder
from tests.support import local_http
from tests.support.javas import java_11
from tests.support.server_archives import unpacked, write_properties

RELEASE: Final = "0.287"
PLUGINS: Final = ("hive-hadoop2",)
_PROBE_TIMEOUT_S: Final = 5.0
_CONFIG: Final = {
    "coordinator": "true",
    "node-scheduler.include-coordinator": "true",
    "discovery-server.enabled": "true",
    "query.max-memory": "512MB",
    "query.max-memory-per-node": "256MB",
    "query.max-total-memory-per-node": "512MB",
    # On a busy machine it would take its only node for failed.
    "failure-detector.enabled": "false",
    # Its tables hold a few rows: more threads for each query would only take turns.
    "task.concurrency": "1",
}


class Presto(Service):
    """A Presto of one node, with its own files in `folder`."""

    name = "presto"
    start_timeout_s = 900.0
    stop_timeout_s = 30.0

    def __init__(self, folder: Path, catalogs: Mapping[str, Mapping[str, str]]) -> None:
        """`catalogs` gives the properties of each catalog."""
        self._folder = make_folder(folder)
        self._catalogs = catalogs
        self._port = Ports(folder / "ports.json").take("presto")

    @property
    def address(self) -> str:
        return f"http://{LOOPBACK}:{self._port}"

    def prepare(self) -> Launch:
        server = installed()
        catalogs = make_folder(self._folder / "catalog")
        for name, properties in self._catalogs.items():
            write_properties(catalogs / f"{name}.properties", properties)
        config = self._folder / "config.properties"
        own = {
            "http-server.http.port": str(self._port),
            "discovery.uri": self.address,
            "plugin.dir": str(server / "plugin"),
            "plugin.config-dir": str(catalogs),
        }
        write_properties(config, {**_CONFIG, **own})
        levels = self._folder / "log.properties"
        write_properties(levels, dict.fromkeys(("com.facebook", "org", "Bootstrap"), "WARN"))
        argv = (
            str(java_11()),
            *("-Xmx1536m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"),
            "-XX:+ExitOnOutOfMemoryError",
            "-Djdk.attach.allowAttachSelf=true",
            "-Dnode.environment=test",
            "-Dnode.id=test",
            f"-Dnode.data-dir={make_folder(self._folder / 'data')}",
            f"-Dlog.levels-file={levels}",
            f"-Dconfig={config}",
            *("-cp", f"{server / 'lib'}/*"),
            "com.facebook.presto.server.PrestoServer",
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
    return unpacked("presto", PLUGINS)


if __name__ == "__main__":
    print(installed(), java_11(), file=sys.stderr)
