"""A real Trino, whose catalogs are made by statements."""

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import httpx

from metatide.config.paths import cache_dir
from metatide.stack import jars
from metatide.stack.jars import JarSet
from metatide.stack.machine import LOOPBACK, file_lock
from metatide.stack.ports import Ports
from metatide.stack.service import Launch, Service
from state.folders import make_folder
from tests.support import local_http
from tests.support.javas import java_25

RELEASE = "476"
PLUGINS = ("hive", "iceberg")
_SETS = Path(__file__).with_name("jarsets")
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
        _write(config, {**_CONFIG, **own})
        levels = self._folder / "log.properties"
        _write(levels, dict.fromkeys(("io.trino", "io.airlift", "org", "Bootstrap"), "WARN"))
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


def _write(path: Path, properties: Mapping[str, str]) -> None:
    path.write_text("".join(f"{key}={value}\n" for key, value in properties.items()))


def installed() -> Path:
    """The folder of the server, which is fetched and unpacked once into the cache."""
    archive = JarSet.load("trino", _SETS)
    cache = make_folder(cache_dir() / "jars")
    folder = cache / f"{archive.folder_name}-unpacked"
    with file_lock(cache / ".trino-unpacked.lock"):
        if not folder.is_dir():
            fetched = jars.install(archive, cache)
            _unpack(fetched / archive.jars[0].artifact.file_name, folder)
            shutil.rmtree(fetched)
    return folder


def _unpack(archive: Path, folder: Path) -> None:
    partial = Path(tempfile.mkdtemp(prefix=".trino.", dir=folder.parent))
    try:
        # Files of one plugin are hard links to those of another, so all are unpacked at first.
        command = ["tar", "--extract", "--file", str(archive), "--strip-components=1"]
        subprocess.run([*command, "--directory", str(partial)], check=True)
        for plugin in (partial / "plugin").iterdir():
            if plugin.name not in PLUGINS:
                shutil.rmtree(plugin)
        partial.chmod(0o755)
        partial.replace(folder)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


if __name__ == "__main__":
    print(installed(), java_25(), file=sys.stderr)
