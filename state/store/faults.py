"""Translates RocksDB's errors into errors of ours.

rocksdict raises a plain `Exception` with the text of RocksDB's status for everything; only this
module reads those texts. An unknown text makes the shard cold: a doubt is never served.
"""

import shutil
from pathlib import Path
from typing import Final

from rocksdict import DbClosedError

from hive.errors import (
    ClosedStoreError,
    ColdShardError,
    LockedStoreError,
    MachineError,
    OtherStoreError,
)

_LOCKED: Final = ("lock hold by current process", "While lock file")
_OTHER: Final = "Column families not opened"
_MACHINE: Final = {
    "No space left on device": "free some room on that disk and start again",
    "Disk quota exceeded": "free some room or raise the quota, and start again",
    "Stale file handle": "mount that file system again",
    "Read-only file system": "mount that file system for writing",
    "File too large": "raise the limit of file sizes (ulimit -f)",
    "Permission denied": "give this user the right to read and write it",
    "Too many open files": "raise the limit of open files (ulimit -n)",
    "Cannot allocate memory": "give the process more memory or a smaller memory budget",
}


class Faults:
    """The errors of one store; the first one that makes it cold is remembered and raised ever
    after.

    Otherwise a store with one bad block would go on serving its other blocks. Only the text is
    remembered: the error itself holds the iterators that met it, and these keep the directory
    locked.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._cold: str | None = None

    @property
    def is_cold(self) -> bool:
        return self._cold is not None

    def check(self) -> None:
        if self._cold is not None:
            raise ColdShardError(self._cold)

    def cold(self, reason: str) -> ColdShardError:
        error = ColdShardError(
            f"the shard in {self.path} is cold: {reason}. Set the directory aside and "
            "build the shard again, from an image or from the topic"
        )
        self._cold = self._cold or str(error)
        return error

    def closed(self) -> ClosedStoreError:
        return ClosedStoreError(f"the store in {self.path} is closed: open it again to read it")

    def typed(self, error: Exception) -> Exception:
        """Our error for what rocksdict raised; `error` itself if it isn't one of rocksdict's."""
        text = _text_of(error)
        if isinstance(error, DbClosedError):
            return self.closed()
        if type(error) is not Exception:
            return error
        if any(sign in text for sign in _LOCKED):
            return LockedStoreError(
                f"the store in {self.path} is open already, here or in another process: "
                "a shard has one writer, stop the other one"
            )
        if _OTHER in text:
            return OtherStoreError(
                f"the store in {self.path} has column families that this version doesn't know "
                f"({text}): use the version that wrote it, or build the shard again"
            )
        return self._of_machine(text) or self.cold(text)

    def of_copying(self, error: Exception, copy: Path) -> Exception:
        """Our error for what rocksdict raised as it copied the store: only damage says anything of
        the store itself."""
        text = _text_of(error)
        if type(error) is not Exception or text.startswith("Corruption"):
            return self.typed(error)
        reason = f"the store in {self.path} can't be copied to {copy}: {text}"
        return self._of_machine(text) or MachineError(reason)

    def _of_machine(self, text: str) -> MachineError | None:
        for sign, advice in _MACHINE.items():
            if sign in text:
                return MachineError(f"the store in {self.path} failed: {text}: {advice}")
        return None


def _text_of(error: Exception) -> str:
    """The text of RocksDB's status in one line."""
    return " ".join(str(error).split()).rstrip(".")


def set_aside(path: Path) -> Path:
    """Moves a cold store out of the way for later inspection; only the newest one is kept."""
    aside = path.with_name(f"{path.name}.cold")
    shutil.rmtree(aside, ignore_errors=True)
    return path.rename(aside)
