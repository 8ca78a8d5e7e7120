"""Limits that can't be measured for a while."""

import errno
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from processors.worker.disk_usage import DiskUsage
from processors.worker.limits import Allowed, Limits


async def test_the_log_says_when_room_ends_and_when_there_is_some_again(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"four")
    limits = Limits(tmp_path, Allowed(disk_bytes_max=3, disk_free_bytes_min=0))
    with capture_logs() as entries:
        for _ in range(3):
            await limits.check()
        (tmp_path / "file").write_bytes(b"")
        for _ in range(3):
            await limits.check()
    [stop, on] = entries
    assert stop["event"] == "shards stop for lack of room"
    assert "worker.disk_max_mib" in stop["why"]
    assert on["event"] == "there is room again"


async def test_what_cannot_be_measured_stays_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_bytes(b"four")
    limits = Limits(tmp_path, Allowed(disk_free_bytes_min=0))
    await limits.check()
    assert (limits.disk_bytes, limits.fault) == (4, None)

    def fail(_: DiskUsage) -> int:
        raise OSError(errno.EMFILE, "Too many open files")

    with monkeypatch.context() as patch, capture_logs() as entries:
        patch.setattr(DiskUsage, "look", fail)
        for _ in range(3):
            await limits.check()
            await limits.room()
        assert (limits.disk_bytes, limits.fault) == (4, None)
        assert [entry["why"] for entry in entries] == ["[Errno 24] Too many open files"]
    limits.allowed = Allowed(disk_bytes_max=3, disk_free_bytes_min=0)
    await limits.check()
    assert limits.fault is not None
    (tmp_path / "file").write_bytes(b"")
    with monkeypatch.context() as patch:
        patch.setattr(DiskUsage, "look", fail)
        await limits.check()
        assert limits.fault is not None, "nobody knows whether there is room"
    await limits.check()
    assert limits.fault is None
    with monkeypatch.context() as patch:
        patch.setattr(DiskUsage, "look", fail)
        limits.allowed = Allowed(memory_bytes_max=1, disk_free_bytes_min=0)
        await limits.check()
        assert "worker.memory_max_mib" in (limits.fault or ""), "memory is measured still"
