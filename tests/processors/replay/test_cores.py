"""The cores that a process may use."""

import os
from pathlib import Path

import pytest

from processors.replay.cores import usable_cores


@pytest.mark.parametrize(
    ("limits", "cores"),
    [
        ("max 100000", 8),
        ("300000 100000", 3),
        ("250000 100000", 2),
        ("50000 100000", 1),
        ("1600000 100000", 8),
        ("", 8),
        (None, 8),
    ],
)
def test_quota_of_a_container_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limits: str | None, cores: int
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)))
    quota = tmp_path / "cpu.max"
    if limits is not None:
        quota.write_text(f"{limits}\n")
    assert usable_cores(quota) == cores
