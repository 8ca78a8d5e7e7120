import fcntl
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from hive.errors import MachineError
from metatide.stack import ownership
from metatide.stack.ownership import end_orphans, owned
from metatide.stack.state import ProcessState, StackState, StateFile


@pytest.fixture
def sleeper(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process whose command line holds the data folder."""
    process = subprocess.Popen(["sh", "-c", f"while :; do sleep 0.05; done # {tmp_path}/x"])
    yield process
    process.kill()
    process.wait()


def record(folder: Path, process: subprocess.Popen[bytes], *, older_by_s: float = 0.0) -> None:
    created = psutil.Process(process.pid).create_time() - older_by_s
    entry = ProcessState("sleeper", "nowhere", "running", process.pid, created)
    StateFile(folder).write(StackState(1, "nowhere", [entry]))


def test_a_folder_has_one_owner(tmp_path: Path) -> None:
    with owned(tmp_path):
        StateFile(tmp_path).write(StackState(17, "http://there", []))
        with pytest.raises(MachineError, match="process 17, http://there"), owned(tmp_path):
            pass
    assert not (tmp_path / "lock").exists()
    with owned(tmp_path):
        pass


def test_an_orphan_is_ended(tmp_path: Path, sleeper: subprocess.Popen[bytes]) -> None:
    record(tmp_path, sleeper)
    assert end_orphans(tmp_path) == ["sleeper"]
    assert sleeper.poll() is not None


def test_an_orphan_is_ended_as_it_wants_to_be(tmp_path: Path) -> None:
    # Not SIGINT, which what runs in the background of a shell can't trap.
    traps = "trap '' TERM; trap 'echo asked; exit' USR1"
    script = f"{traps}; echo up; while :; do sleep 0.05; done # {tmp_path}/x"
    with subprocess.Popen(["bash", "-c", script], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"up\n"
        created = psutil.Process(process.pid).create_time()
        entry = ProcessState(
            "sleeper", "nowhere", "running", process.pid, created, stop_signal=signal.SIGUSR1
        )
        StateFile(tmp_path).write(StackState(1, "nowhere", [entry]))
        assert end_orphans(tmp_path) == ["sleeper"]
        assert process.stdout.read() == b"asked\n"


def test_an_orphan_whose_end_nobody_notes_is_not_waited_for(tmp_path: Path) -> None:
    child = f"exec -a {tmp_path}/x sleep 60"
    script = f"bash -c '{child}' & echo $!; exec sleep 60"
    with subprocess.Popen(["bash", "-c", script], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        orphan = psutil.Process(int(parent.stdout.readline()))
        while f"{tmp_path}/x" not in orphan.cmdline():
            time.sleep(0.01)
        entry = ProcessState("orphan", "nowhere", "running", orphan.pid, orphan.create_time())
        StateFile(tmp_path).write(StackState(1, "nowhere", [entry]))
        assert end_orphans(tmp_path) == ["orphan"]
        assert orphan.status() == psutil.STATUS_ZOMBIE
        parent.kill()


def test_an_older_process_of_the_same_number_is_left_alone(
    tmp_path: Path, sleeper: subprocess.Popen[bytes]
) -> None:
    record(tmp_path, sleeper, older_by_s=60)
    assert end_orphans(tmp_path) == []
    assert sleeper.poll() is None


def test_a_process_of_another_folder_is_left_alone(
    tmp_path: Path, sleeper: subprocess.Popen[bytes]
) -> None:
    other = tmp_path / "x" / "other"
    other.mkdir(parents=True)
    record(other, sleeper)
    assert end_orphans(other) == []
    assert sleeper.poll() is None


@pytest.mark.parametrize("is_replaced", [False, True])
def test_a_lock_that_its_last_owner_removes_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_replaced: bool
) -> None:
    path, flock, handles = tmp_path / "lock", fcntl.flock, list[int]()

    def lock(handle: int, operation: int) -> None:
        handles.append(handle)
        if len(handles) == 1:
            path.rename(tmp_path / "gone")
            if is_replaced:
                path.touch()
        flock(handle, operation)

    monkeypatch.setattr(fcntl, "flock", lock)
    with owned(tmp_path):
        assert len(handles) == 2
        with pytest.raises(MachineError, match="a stack already runs"), owned(tmp_path):
            pass


def test_an_orphan_that_does_not_end_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ownership, "ORPHAN_TIMEOUT_S", 0.05)
    script = f"trap '' TERM; echo up; while :; do sleep 0.05; done # {tmp_path}/x"
    with subprocess.Popen(["bash", "-c", script], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"up\n"
        record(tmp_path, process)
        assert end_orphans(tmp_path) == ["sleeper"]
        assert process.wait() == -signal.SIGKILL


def test_an_orphan_that_ends_before_it_is_asked_to_has_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sleeper: subprocess.Popen[bytes]
) -> None:
    find = ownership._find

    def find_and_end(entry: ProcessState, folder: Path) -> psutil.Process | None:
        process = find(entry, folder)
        sleeper.kill()
        sleeper.wait()
        return process

    monkeypatch.setattr(ownership, "_find", find_and_end)
    record(tmp_path, sleeper)
    assert end_orphans(tmp_path) == ["sleeper"]


def test_a_state_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    file = tmp_path / "gone" / "stack.json"
    with pytest.raises(MachineError, match=f"^cannot write {file}: No such file or directory; see"):
        StateFile(file.parent).write(StackState(1, "nowhere", []))


def test_a_torn_state_file_counts_as_none(tmp_path: Path) -> None:
    (tmp_path / "stack.json").write_bytes(b'{"pid": 1, "addr')
    assert StateFile(tmp_path).read() is None
    assert end_orphans(tmp_path) == []
