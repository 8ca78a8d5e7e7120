"""A small file that is read again when it has changed."""

from collections.abc import Callable
from pathlib import Path
from time import monotonic
from typing import Final, Generic, TypeVar

import structlog

from hive.errors import InputError

LOOK_EVERY_S: Final = 1.0

log = structlog.get_logger(__name__)
T = TypeVar("T")


class WatchedFile(Generic[T]):
    """What a file says, read again after it was written or replaced. While the new content can't be
    read, the one before stays.
    """

    def __init__(self, path: Path, read: Callable[[Path], T]) -> None:
        self._path = path
        self._read = read
        self._version = file_version(path)
        self._failed_version: tuple[int, ...] | None = None
        self._next_look_s = monotonic() + LOOK_EVERY_S
        self._content = read(path)
        self.reads = 1
        """How many contents have been read."""

    def content(self) -> T:
        """Looks at the file at most once a second."""
        now = monotonic()
        if now >= self._next_look_s:
            self._next_look_s = now + LOOK_EVERY_S
            version = file_version(self._path)
            if version != self._version:
                self._read_again(version)
        return self._content

    def _read_again(self, version: tuple[int, ...]) -> None:
        try:
            self._content = self._read(self._path)
        except (OSError, InputError) as error:
            # The version stays the former one, so that the next look reads again.
            if version != self._failed_version:
                self._failed_version = version
                log.warning(
                    "a file can't be read again: its last content stays until it can",
                    path=str(self._path),
                    why=str(error),
                )
            return
        self._version, self._failed_version = version, None
        self.reads += 1


def file_version(path: Path) -> tuple[int, ...]:
    """What differs when a file has been written or replaced, or when others may read it; empty if
    there is none.
    """
    try:
        stat = path.stat()
    except OSError:
        return ()
    return stat.st_ino, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_size
