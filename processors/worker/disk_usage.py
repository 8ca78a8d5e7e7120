"""How many bytes the files below a directory take, measured again and again at little cost."""

import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

QUIET_S: Final = 10.0
"""A folder in which nothing has changed for so long isn't listed at each look."""
LOOK_S_MAX: Final = 30.0
"""Each folder is listed this often in any case: a file can grow without a trace in its folder."""


class _Folder(NamedTuple):
    """A folder as it was when it was last listed."""

    modified_ns: int
    """When an entry was last added, renamed or removed."""
    bytes: int
    folders: tuple[Path, ...]
    listed_s: float
    changed_s: float
    """Since when its listings have been the same."""


class DiskUsage:
    """Measures a directory of stores.

    Looking at every file costs as much as all else that an idle worker with many shards does. The
    stores begin a new file for whatever they write, so an idle store is known by its folder alone.
    """

    def __init__(self, path: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._path = path
        self._clock = clock
        self._folders: dict[Path, _Folder] = {}

    def look(self) -> int:
        """The bytes of all files now; what vanishes meanwhile counts as nothing."""
        before, self._folders = self._folders, {}
        waiting = [self._path]
        while waiting:
            path = waiting.pop()
            with suppress(FileNotFoundError):
                folder = self._folders[path] = self._folder(path, before.get(path))
                waiting += folder.folders
        return sum(folder.bytes for folder in self._folders.values())

    def _folder(self, path: Path, before: _Folder | None) -> _Folder:
        now_s, modified_ns = self._clock(), path.stat().st_mtime_ns
        if (
            before is not None
            and before.modified_ns == modified_ns
            and before.listed_s - before.changed_s >= QUIET_S
            and now_s - before.listed_s < LOOK_S_MAX
        ):
            return before
        size, folders = _list(path)
        listed = _Folder(modified_ns, size, folders, now_s, now_s)
        if before is not None and listed[:3] == before[:3]:
            return listed._replace(changed_s=before.changed_s)
        return listed


def bytes_below(path: Path) -> int:
    """The bytes of the files in a directory; files that vanish meanwhile count as nothing."""
    return DiskUsage(path).look()


def _list(path: Path) -> tuple[int, tuple[Path, ...]]:
    """The bytes of the files in a folder itself, and the folders in it."""
    size, folders = 0, []
    with os.scandir(path) as entries:
        for entry in entries:
            with suppress(FileNotFoundError):
                if entry.is_dir(follow_symlinks=False):
                    folders.append(Path(entry.path))
                else:
                    size += entry.stat().st_size
    return size, tuple(sorted(folders))
