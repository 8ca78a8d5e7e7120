"""Trino and its other branch Presto, which start and tell how they are in the same way."""

from abc import abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import httpx

from metatide.stack.class_archive import class_options
from metatide.stack.machine import LOOPBACK
from metatide.stack.ports import Ports
from metatide.stack.service import Launch, Service
from state.folders import make_folder
from tests.support import local_http

_PROBE_TIMEOUT_S: Final = 5.0


class QueryServer(Service):
    """A server of one node, with its own files in `folder`."""

    start_timeout_s = 900.0
    stop_timeout_s = 30.0
    main_class: str
    java_options: tuple[str, ...]
    """Options of its own."""
    quiet: tuple[str, ...]
    """The loggers that report warnings only."""

    def __init__(self, folder: Path) -> None:
        self.folder = make_folder(folder)
        self._port = Ports(folder / "ports.json").take(self.name)

    @property
    def address(self) -> str:
        return f"http://{LOOPBACK}:{self._port}"

    @abstractmethod
    def java(self) -> Path:
        """The program that runs it."""

    @abstractmethod
    def installed(self) -> Path:
        """The folder of the server."""

    @abstractmethod
    def settings(self) -> Mapping[str, str]:
        """The settings of its own."""

    def prepare(self) -> Launch:
        server = self.installed()
        config = self.folder / "config.properties"
        common = {
            "http-server.http.port": str(self._port),
            "discovery.uri": self.address,
            "plugin.dir": str(server / "plugin"),
            "coordinator": "true",
            "node-scheduler.include-coordinator": "true",
            "query.max-memory": "512MB",
            # Its tables hold a few rows: more threads for each query would only take turns.
            "task.concurrency": "1",
        }
        write_properties(config, {**common, **self.settings()})
        levels = self.folder / "log.properties"
        write_properties(levels, dict.fromkeys(self.quiet, "WARN"))
        java = self.java()
        argv = (
            str(java),
            *("-Xms1536m", "-Xmx1536m", "-Xmn900m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"),
            "-XX:+ExitOnOutOfMemoryError",
            "-Djdk.attach.allowAttachSelf=true",
            *self.java_options,
            f"-Dnode.data-dir={make_folder(self.folder / 'data')}",
            f"-Dlog.levels-file={levels}",
            f"-Dconfig={config}",
            *class_options(self.name, java, f"{server / 'lib'}/*"),
            self.main_class,
        )
        return Launch(argv, {"HADOOP_USER_NAME": "hive"})

    def answers(self) -> bool:
        try:
            info = local_http.get(f"{self.address}/v1/info", timeout=_PROBE_TIMEOUT_S).json()
        except (httpx.TransportError, ValueError):
            return False
        return info.get("starting") is False


def write_properties(path: Path, properties: Mapping[str, object]) -> None:
    path.write_text("".join(f"{key}={value}\n" for key, value in properties.items()))
