"""Log files of processes, limited in size."""

import shutil
from pathlib import Path
from typing import BinaryIO

from hive.units import MIB
from state.folders import make_folder

LOG_BYTES_MAX = 8 * MIB
_TAIL_BYTES = 4096


class LogFile:
    """A log file, and its predecessor NAME.1."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def open(self) -> BinaryIO:
        make_folder(self.path.parent)
        return self.path.open("ab")

    def bound(self) -> None:
        """Moves the contents to NAME.1 if the file is too long; the process keeps writing to it."""
        if self.path.exists() and self.path.stat().st_size > LOG_BYTES_MAX:
            shutil.copyfile(self.path, self.path.with_name(f"{self.path.name}.1"))
            with self.path.open("r+b") as stream:
                stream.truncate(0)

    def last_words(self) -> str:
        """The last line, for a message about the end of the process."""
        lines: list[str] = []
        if self.path.exists():
            with self.path.open("rb") as stream:
                stream.seek(max(0, self.path.stat().st_size - _TAIL_BYTES))
                lines = stream.read().decode(errors="replace").strip().splitlines()
        return f": {lines[-1].strip()} (more in {self.path})" if lines else ""
