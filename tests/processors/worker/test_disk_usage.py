"""Measuring the files of stores, and at what cost while nothing happens."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from processors.worker.disk_usage import LOOK_S_MAX, QUIET_S, DiskUsage, bytes_below

SHARDS = 16
FILES = 20
BYTES = 100


class Clock:
    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def stores(tmp_path: Path) -> Path:
    for shard in range(SHARDS):
        folder = tmp_path / f"shard-{shard}" / "store"
        folder.mkdir(parents=True)
        for number in range(FILES):
            (folder / f"{number:06}.sst").write_bytes(b"x" * BYTES)
    return tmp_path


@pytest.fixture
def listed(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Path]]:
    """The folders that were listed."""
    paths: list[Path] = []
    scandir: Callable[[Path], Any] = os.scandir

    def noted(path: Path) -> Any:
        paths.append(path)
        return scandir(path)

    with monkeypatch.context() as patch:
        patch.setattr("processors.worker.disk_usage.os.scandir", noted)
        yield paths


def rested(usage: DiskUsage, clock: Clock) -> int:
    """Looks once a second until nothing counts as new; returns the bytes."""
    for _ in range(int(QUIET_S) + 1):
        size = usage.look()
        clock.now_s += 1
    return size


def test_all_files_below_count(stores: Path) -> None:
    assert bytes_below(stores) == SHARDS * FILES * BYTES
    assert bytes_below(stores / "none") == 0


def test_idle_stores_are_not_listed_at_each_look(stores: Path, listed: list[Path]) -> None:
    clock = Clock()
    usage = DiskUsage(stores, clock)
    total = rested(usage, clock)
    listed.clear()
    looks = 5
    for _ in range(looks):
        assert usage.look() == total
        clock.now_s += 1
    assert listed == []


def test_a_new_file_counts_at_the_next_look(stores: Path, listed: list[Path]) -> None:
    clock = Clock()
    usage = DiskUsage(stores, clock)
    total = rested(usage, clock)
    listed.clear()
    folder = stores / "shard-3" / "store"
    (folder / "new.sst").write_bytes(b"x" * 7)
    assert usage.look() == total + 7
    assert listed == [folder]


def test_a_file_that_goes_on_growing_counts_at_each_look(stores: Path) -> None:
    clock = Clock()
    usage = DiskUsage(stores, clock)
    total = rested(usage, clock)
    with (stores / "shard-3" / "store" / "new.sst").open("wb") as file:
        for size in range(1, int(3 * QUIET_S)):
            file.write(b"x")
            file.flush()
            assert usage.look() == total + size
            clock.now_s += 1


def test_a_file_of_an_idle_store_that_grows_counts_within_the_limit(stores: Path) -> None:
    clock = Clock()
    usage = DiskUsage(stores, clock)
    total = rested(usage, clock)
    with (stores / "shard-3" / "store" / "000001.sst").open("ab") as file:
        file.write(b"x" * 7)
    clock.now_s += LOOK_S_MAX
    assert usage.look() == total + 7


def test_folders_that_come_and_go_count(stores: Path) -> None:
    clock = Clock()
    usage = DiskUsage(stores, clock)
    total = rested(usage, clock)
    (stores / "shard-16" / "store").mkdir(parents=True)
    (stores / "shard-16" / "store" / "1.sst").write_bytes(b"x" * 7)
    assert usage.look() == total + 7
    (stores / "shard-16" / "store" / "1.sst").unlink()
    (stores / "shard-16" / "store").rmdir()
    (stores / "shard-16").rmdir()
    assert usage.look() == total
