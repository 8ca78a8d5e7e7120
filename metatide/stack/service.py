"""The interface between the supervisor and its processes."""

import os
import re
import signal
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from hive.errors import MachineError
from metatide.stack.machine import as_user

_SECRET: Final = re.compile(r"PASSWORD|PASSWD|_PWD|SECRET|TOKEN|CREDENTIAL|_KEY(_ID)?$")
"""The names of variables from which programs and libraries read secrets."""
DATABASE_SECRETS: Final = ("PG", "MYSQL_")
ALL_SECRETS: Final = ("",)


def child_environment(secrets: tuple[str, ...] = ()) -> dict[str, str]:
    """The environment of a child. Of the secrets in ours it inherits those whose names begin in one
    of these ways.
    """
    environment = {
        name: text
        for name, text in os.environ.items()
        if name.startswith(secrets) or not _SECRET.search(name)
    }
    if environment.get("LC_ALL") in ("C", "POSIX"):
        # Python takes UTF-8 for these; Java takes ASCII, and finds no other path.
        environment["LC_ALL"] = "C.UTF-8"
    return environment


def run_tool(
    command: Sequence[str],
    purpose: str,
    user: str | None = None,
    environment: Mapping[str, str] | None = None,
) -> None:
    """Runs a program to its end, without secrets; `purpose` begins the error if it fails."""
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        process_group=0,
        cwd="/",
        env={**child_environment(), **(environment or {})},
        **as_user(user),
    )
    if done.returncode != 0:
        lines = (done.stdout + done.stderr).strip().splitlines()
        messages = [line for line in lines if not line.lstrip().startswith("at ")]
        raise MachineError(f"{purpose}: {messages[-1] if messages else 'it wrote nothing'}")


@dataclass(frozen=True)
class Launch:
    """How to start a process. Its command line must contain the data folder, see `ownership`."""

    argv: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    user: str | None = None
    secrets: tuple[str, ...] = ()
    """How the names of secrets begin that it inherits."""

    def full_environment(self) -> dict[str, str]:
        return {**child_environment(self.secrets), **self.environment}


class Service(ABC):
    """A long-running process of the stack."""

    name: str
    # The names of services that start before this one and end after it, if the stack runs them.
    needs: tuple[str, ...] = ()
    jar_sets: tuple[str, ...] = ()
    stop_signal: signal.Signals = signal.SIGTERM
    stop_timeout_s = 15.0
    # A broker takes 3 s alone, but can take 42 s among forty others.
    start_timeout_s = 180.0

    @abstractmethod
    def prepare(self) -> Launch:
        """Prepares the files of the process, also after a crash. Called before every start."""

    @abstractmethod
    def answers(self) -> bool:
        """Whether it answers clients now."""

    def settle(self) -> None:  # noqa: B027
        """Finishes the setup by talking to the running process. Called after every start."""

    @property
    @abstractmethod
    def address(self) -> str:
        """The address to show, without secrets."""
