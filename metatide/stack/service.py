"""The interface between the supervisor and its processes."""

import os
import signal
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Launch:
    """How to start a process. Its command line must contain the data folder, see `ownership`."""

    argv: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    user: str | None = None

    def full_environment(self) -> dict[str, str]:
        return {**os.environ, **self.environment}


class Service(ABC):
    """A long-running process of the stack."""

    name: str
    # Those of them that run here start before it and end after it.
    needs: tuple[str, ...] = ()
    jar_sets: tuple[str, ...] = ()
    stop_signal: signal.Signals = signal.SIGTERM
    stop_timeout_s = 15.0
    # A broker takes 3 s alone, and was seen to take 42 s among forty others.
    start_timeout_s = 180.0

    @abstractmethod
    def prepare(self) -> Launch:
        """Prepares its files, also after a crash. Called before every start."""

    @abstractmethod
    def answers(self) -> bool:
        """Whether it answers clients now."""

    def settle(self) -> None:  # noqa: B027
        """Finishes the setup through the running process. Called after every start."""

    @property
    @abstractmethod
    def address(self) -> str:
        """The address to show, without secrets."""
