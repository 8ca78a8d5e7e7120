"""Where the services of the tests come from: containers, or processes of this machine.

METATIDE_TEST_SERVICES=containers or =local decides; by default it is containers if a Docker engine
listens.
"""

import os
import socket
from functools import cache
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from metatide.stack.machine import LOOPBACK

if TYPE_CHECKING:
    from testcontainers.core.container import DockerContainer

SWITCH = "METATIDE_TEST_SERVICES"
_ENGINE = "unix:///var/run/docker.sock"
_ENGINE_PORT = 2375
_ENGINE_TIMEOUT_S = 2.0


@cache
def use_containers() -> bool:
    forced = os.environ.get(SWITCH)
    assert forced in (None, "", "containers", "local"), f"{SWITCH}: say containers or local"
    if forced == "local":
        return False
    engine = os.environ.get("DOCKER_HOST") or _ENGINE
    listens = engine_listens(engine)
    assert listens or not forced, f"{SWITCH} is {forced}, but no Docker engine listens at {engine}"
    return listens


def engine_listens(url: str) -> bool:
    parts = urlsplit(url)
    if parts.scheme == "unix":
        probe = socket.socket(socket.AF_UNIX)
        address: str | tuple[str, int] = parts.path
    else:
        probe = socket.socket()
        address = (parts.hostname or "localhost", parts.port or _ENGINE_PORT)
    with probe:
        probe.settimeout(_ENGINE_TIMEOUT_S)
        return probe.connect_ex(address) == 0


def container_at(port: int, image: str, inside: int) -> "DockerContainer":
    """A container, to be started, whose port `inside` is reached at a port of this machine alone.

    Nothing is started beside it to remove it: the test does so.
    """
    from testcontainers.core.config import testcontainers_config
    from testcontainers.core.container import DockerContainer

    testcontainers_config.ryuk_disabled = True
    container = DockerContainer(image)
    container.ports[str(inside)] = (LOOPBACK, port)  # type: ignore[assignment]
    return container
