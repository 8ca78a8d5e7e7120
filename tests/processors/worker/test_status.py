"""What a worker says of itself."""

import time
from pathlib import Path

import pytest

from processors.worker.status import worker_status
from processors.worker.worker import Worker, WorkerSettings


def test_a_clock_that_is_set_does_not_change_how_long_a_worker_is_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now_s = time.time()
    settings = WorkerSettings(servers="127.0.0.1:1", topic="t", path=tmp_path, group="g")
    worker = Worker(settings)
    monkeypatch.setattr(time, "time", lambda: now_s - 3 * 3600)
    assert 0 <= worker_status(worker).up_s < 3600
