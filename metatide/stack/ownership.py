"""Ensures that a data folder has one supervisor, and ends what a killed one left running."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

from hive.errors import MachineError
from metatide.stack.state import ProcessState, StateFile
from state.folders import make_folder, open_lock

ORPHAN_TIMEOUT_S = 10.0
_CREATED_TOLERANCE_S = 0.05
_POLL_S = 0.02


@contextmanager
def owned(folder: Path) -> Iterator[None]:
    """Takes ownership of the folder; raises an error if another supervisor has it."""
    path = make_folder(folder) / "lock"
    handle = _lock(path)
    if handle is None:
        state = StateFile(folder).read()
        who = f": process {state.pid}, {state.address}" if state else ""
        raise MachineError(
            f"a stack already runs on {folder}{who}; stop it or choose another --data-dir"
        )
    try:
        yield
    finally:
        path.unlink()
        os.close(handle)


def _lock(path: Path) -> int | None:
    """The locked file; None if another process holds the lock."""
    while True:
        handle = open_lock(path)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # The last owner may have removed the file between the calls above.
            if path.stat().st_ino == os.fstat(handle).st_ino:
                return handle
        except BlockingIOError:
            os.close(handle)
            return None
        except FileNotFoundError:
            pass
        os.close(handle)


def end_orphans(folder: Path) -> list[str]:
    """Ends the processes that a killed supervisor of this folder left running; returns their
    names.
    """
    state = StateFile(folder).read()
    ended = []
    for entry in reversed(state.processes if state else []):
        process = _find(entry, folder)
        if process is None:
            continue
        with suppress(psutil.NoSuchProcess):
            process.send_signal(entry.stop_signal)
            if not _wait(process, ORPHAN_TIMEOUT_S):
                process.kill()
                _wait(process, ORPHAN_TIMEOUT_S)
        ended.append(entry.name)
    return ended


def _wait(process: psutil.Process, timeout_s: float) -> bool:
    """Whether the process ended in time. In containers it may remain as a zombie that nobody
    reaps. Raises NoSuchProcess once nothing of it remains.
    """
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        if process.status() == psutil.STATUS_ZOMBIE:
            return True
        time.sleep(_POLL_S)
    return False


def _find(entry: ProcessState, folder: Path) -> psutil.Process | None:
    """The process that `entry` describes, if it still runs and is certainly the same."""
    if entry.pid is None or entry.created is None:
        return None
    try:
        process = psutil.Process(entry.pid)
        same = abs(process.create_time() - entry.created) < _CREATED_TOLERANCE_S
        ours = any(str(folder) in argument for argument in process.cmdline())
    except psutil.NoSuchProcess:
        return None
    return process if same and ours else None
