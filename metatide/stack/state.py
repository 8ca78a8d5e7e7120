"""The state of the supervisor, in a file of the data folder for other processes."""

import signal
from pathlib import Path
from typing import Literal

import msgspec

from hive.errors import UNDECODABLE, MachineError

Phase = Literal["waiting", "starting", "running", "restarting", "stopped"]


class ProcessState(msgspec.Struct):
    """One process; `created` distinguishes it from a later one with the same number."""

    name: str
    address: str
    phase: Phase = "waiting"
    pid: int | None = None
    created: float | None = None
    restarts: int = 0
    stop_signal: int = signal.SIGTERM


class StackState(msgspec.Struct):
    """The state of the supervisor and its processes."""

    pid: int
    address: str
    processes: list[ProcessState]
    given: dict[str, str] = {}
    """The addresses of services that the stack uses but doesn't run, by what they are (`kafka`,
    `database`, `metastore`), with secrets masked."""


class StateFile:
    """The file `stack.json` of a data folder."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "stack.json"

    def write(self, state: StackState) -> None:
        aside = self._path.with_suffix(".new")
        try:
            aside.write_bytes(msgspec.json.format(msgspec.json.encode(state)) + b"\n")
            aside.replace(self._path)
        except OSError as error:
            raise MachineError(
                f"cannot write {self._path}: {error.strerror}; see to that and run this again"
            ) from error

    def read(self) -> StackState | None:
        """The state; None if no stack of this user runs or a crash left the file incomplete."""
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=StackState)
        except (FileNotFoundError, NotADirectoryError, PermissionError, *UNDECODABLE):
            return None

    def remove(self) -> None:
        self._path.unlink(missing_ok=True)
