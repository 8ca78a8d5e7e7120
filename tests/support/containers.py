"""Where the services of the tests come from: containers, or processes of this machine.

METATIDE_TEST_SERVICES=containers or =local forces one; else containers where a Docker engine
listens.
"""

import os
import socket
from functools import cache
from urllib.parse import urlsplit

SWITCH = "METATIDE_TEST_SERVICES"
_ENGINE = "unix:///var/run/docker.sock"
_ENGINE_PORT = 2375
_ENGINE_TIMEOUT_S = 2.0


@cache
def use_containers() -> bool:
    forced = os.environ.get(SWITCH)
    if forced:
        assert forced in ("containers", "local"), f"{SWITCH}={forced}: say containers or local"
        return forced == "containers"
    return engine_listens(os.environ.get("DOCKER_HOST") or _ENGINE)


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
