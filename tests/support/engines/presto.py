"""A real Presto, whose catalogs are files."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from state.folders import make_folder
from tests.support.engines.query_server import QueryServer, write_properties
from tests.support.engines.server_archives import unpacked
from tests.support.javas import java_11

RELEASE: Final = "0.287"
PLUGINS: Final = ("hive-hadoop2",)


class Presto(QueryServer):
    """A Presto of one node, with its own files in `folder`."""

    name = "presto"
    main_class = "com.facebook.presto.server.PrestoServer"
    java_options = ("-Dnode.environment=test", "-Dnode.id=test")
    quiet = ("com.facebook", "org", "Bootstrap")

    def __init__(self, folder: Path, catalogs: Mapping[str, Mapping[str, str]]) -> None:
        """`catalogs` gives the properties of each catalog."""
        super().__init__(folder)
        self._catalogs = catalogs

    def java(self) -> Path:
        return java_11()

    def installed(self) -> Path:
        return installed()

    def settings(self) -> Mapping[str, str]:
        catalogs = make_folder(self.folder / "catalog")
        for name, properties in self._catalogs.items():
            write_properties(catalogs / f"{name}.properties", properties)
        return {
            "discovery-server.enabled": "true",
            "query.max-memory-per-node": "256MB",
            "query.max-total-memory-per-node": "512MB",
            # On a busy machine it would take its only node for failed.
            "failure-detector.enabled": "false",
            "plugin.config-dir": str(catalogs),
        }


def installed() -> Path:
    """The folder of the server, which is fetched and unpacked once into the cache."""
    return unpacked("presto", PLUGINS)


if __name__ == "__main__":
    print(installed(), java_11(), file=sys.stderr)
