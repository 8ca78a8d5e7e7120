"""Folders in which this process writes."""

import os
from pathlib import Path

from hive.errors import MachineError

PRIVATE = 0o700


def make_folder(folder: Path) -> Path:
    """Creates a folder for this user alone, and its missing parents; it must be writable for this
    process.
    """
    try:
        folder.mkdir(mode=PRIVATE, parents=True, exist_ok=True)
    except OSError as error:
        raise MachineError(
            f"cannot create the folder {folder}: {error.strerror}; solve that or choose another"
        ) from error
    if not os.access(folder, os.W_OK | os.X_OK, effective_ids=True):
        raise MachineError(f"cannot write in the folder {folder}; allow it or choose another")
    return folder


def open_lock(path: Path) -> int:
    """Opens a file to lock, which it makes if it is missing."""
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise MachineError(
            f"cannot write {path}: {error.strerror}; allow it or choose another folder"
        ) from error
