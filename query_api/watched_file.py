"""A small file that is read again when it has changed."""

from pathlib import Path
from time import monotonic
from typing import Final

LOOK_EVERY_S: Final = 1.0


class WatchedFile:
    """Notices that a file was written or replaced, looking at most once a second."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._version = _version(path)
        self._next_look_s = monotonic() + LOOK_EVERY_S

    def has_changed(self) -> bool:
        """Whether the file changed since this was last asked."""
        now = monotonic()
        if now < self._next_look_s:
            return False
        self._next_look_s = now + LOOK_EVERY_S
        before, self._version = self._version, _version(self.path)
        return before != self._version


def _version(path: Path) -> tuple[int, ...]:
    """What differs when a file has been written or replaced."""
    try:
        stat = path.stat()
    except OSError:
        return ()
    return stat.st_ino, stat.st_mtime_ns, stat.st_size
