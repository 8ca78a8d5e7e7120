"""Compose v2, a plugin of Docker's client that Debian 12 has no package of.

It is built once, from the Go modules of a pinned release, and kept in the cache.
"""

from pathlib import Path
from typing import Final

from tests.support.go_programs import go_program

RELEASE: Final = "v2.29.7"


def client_folder(cache: Path) -> Path:
    """The folder of a client's settings and plugins, Compose among them."""
    folder = cache / f"client-{RELEASE}"
    plugin = folder / "cli-plugins" / "docker-compose"
    go_program(plugin, "github.com/docker/compose/v2/cmd", RELEASE)
    return folder
