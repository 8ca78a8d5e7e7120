"""What holds for tests of the Thrift server."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.worker_log import WorkerLog, worker_log


@pytest.fixture(scope="session")
def anyio_backend() -> tuple[str, dict[str, Any]]:
    """The event loop is of the kind that workers have."""
    return "asyncio", {"use_uvloop": True}


@pytest.fixture
def log(capfd: pytest.CaptureFixture[str]) -> Iterator[WorkerLog]:
    """What the test's server logs, without the secrets that the test names."""
    with worker_log(capfd) as log:
        yield log
