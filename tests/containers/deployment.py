"""The deployment of `compose/`, on the tests' engine and on ports that are free."""

import json
import os
import re
import signal
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import httpx
import psutil

from metatide.stack.machine import free_port
from tests.containers.engine import Engine

ROOT: Final = Path(__file__).parents[2]
COMPOSE: Final = ROOT / "compose"
PAGE: Final = ROOT / "docs" / "compose.md"
WAIT_S: Final = 300.0
CORE: Final = ("kafka", "postgres", "metastore", "connector", "worker-1", "worker-2")
OURS: Final = ("connector", "worker-1", "worker-2")
_POLL_S: Final = 0.5


class Deployment:
    """A project of Compose. Its ports are chosen anew, its secrets are in a folder of its own."""

    def __init__(self, engine: Engine, secrets: Path) -> None:
        text = (COMPOSE / "compose.yaml").read_text()
        self._engine = engine
        self._ports = {
            name: str(free_port()) for name in re.findall(r"\$\{([A-Z0-9_]+_PORT):-", text)
        }
        self._environment: Mapping[str, str] = {
            **self._ports,
            "SECRETS": str(secrets),
            "DOCKER_BUILDKIT": "1",
        }
        self.password = (secrets / "database-password").read_text().strip()

    def compose(self, *arguments: str) -> str:
        return self._engine.docker(
            "compose", *arguments, environment=self._environment, cwd=COMPOSE
        )

    def execute(self, service: str, *arguments: str) -> str:
        """The output of a command in the container of a service."""
        return self.compose("exec", "--no-TTY", service, *arguments)

    def up(self, *services: str) -> None:
        self.compose("up", "--detach", "--wait", *services)

    def address(self, service: str, *, thrift: bool = False) -> str:
        """HOST:PORT of a service, as this machine reaches it."""
        kind = "_THRIFT" if thrift else ""
        return f"127.0.0.1:{self._ports[service.upper().replace('-', '_') + kind + '_PORT']}"

    def get(self, service: str, path: str) -> httpx.Response:
        return httpx.get(f"http://{self.address(service)}{path}", timeout=60)

    def containers(self) -> dict[str, dict[str, Any]]:
        """What the engine says of the container of each service that has one."""
        names = self.compose("ps", "--all", "--quiet").split()
        label = "com.docker.compose.service"
        return {each["Config"]["Labels"][label]: each for each in self._engine.inspect(*names)}

    def processes(self, service: str) -> list[psutil.Process]:
        """The first process of a container, and all others in it."""
        process = psutil.Process(self.containers()[service]["State"]["Pid"])
        return [process, *process.children(recursive=True)]

    def server(self, service: str) -> psutil.Process:
        """The process of ours in a container, which the engine's init has started."""
        [_, process] = self.processes(service)
        return process

    def kill(self, service: str) -> None:
        """Kills a container's first process, as a crash would; the engine starts it again."""
        before = self.containers()[service]
        os.kill(before["State"]["Pid"], signal.SIGKILL)
        self.until(
            lambda: self.containers()[service]["RestartCount"] > before["RestartCount"],
            f"{service} isn't started again",
        )
        self.until(lambda: self.health(service) == "healthy", f"{service} isn't healthy again")

    def health(self, service: str) -> str:
        health: str = self.containers()[service]["State"]["Health"]["Status"]
        return health

    def until(self, holds: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + WAIT_S
        while not holds():
            assert time.monotonic() < deadline, f"{what}:\n{self.logs()[-20_000:]}"
            time.sleep(_POLL_S)

    def logs(self) -> str:
        return self.compose("logs", "--no-color")

    def shown(self) -> str:
        """All that the engine and the machine show of the containers: settings, environment,
        processes' arguments.
        """
        containers = self.containers()
        arguments = [process.cmdline() for name in containers for process in self.processes(name)]
        return json.dumps([containers, arguments])
