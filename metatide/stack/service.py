"""What the supervisor must know of a process to run it."""

import os
import signal
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Launch:
    """How to start a process now. Its command line must hold the data folder, see `ownership`."""

    argv: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    user: str | None = None

    def full_environment(self) -> dict[str, str]:
        return {**os.environ, **self.environment}


class Service(ABC):
    """One long-running process of the stack."""

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
        """Makes its files ready, also after a crash. Called before every start."""

    @abstractmethod
    def answers(self) -> bool:
        """Whether a client gets an answer from it now."""

    def settle(self) -> None:  # noqa: B027
        """What is to be done through it once it answers. Called after every start."""

    @property
    @abstractmethod
    def address(self) -> str:
        """What a person may read: where it is found, without secrets."""
