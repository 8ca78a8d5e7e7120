"""A real Trino, whose catalogs are made by statements."""

import sys
from collections.abc import Mapping
from pathlib import Path

from metatide.stack.machine import LOOPBACK
from tests.support.engines.query_server import QueryServer
from tests.support.engines.server_archives import unpacked
from tests.support.javas import java_25

RELEASE = "476"
PLUGINS = ("hive", "iceberg")


class Trino(QueryServer):
    """A Trino of one node, with its own files in `folder`."""

    name = "trino"
    main_class = "io.trino.server.TrinoServer"
    java_options = ("--add-opens=java.base/java.nio=ALL-UNNAMED",)
    quiet = ("io.trino", "io.airlift", "org", "Bootstrap")

    def java(self) -> Path:
        return java_25()

    def installed(self) -> Path:
        return installed()

    def settings(self) -> Mapping[str, str]:
        return {
            "node.environment": "test",
            "node.bind-ip": LOOPBACK,
            "node.internal-address": LOOPBACK,
            "catalog.management": "dynamic",
            "catalog.store": "memory",
            "query.max-memory-per-node": "512MB",
            "memory.heap-headroom-per-node": "256MB",
        }


def installed() -> Path:
    """The folder of the server, which is fetched and unpacked once into the cache."""
    return unpacked("trino", PLUGINS)


if __name__ == "__main__":
    print(installed(), java_25(), file=sys.stderr)
