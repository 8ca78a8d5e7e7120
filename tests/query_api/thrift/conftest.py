"""What holds for tests of the Thrift server."""

from typing import Any

import pytest


@pytest.fixture(scope="session")
def anyio_backend() -> tuple[str, dict[str, Any]]:
    """The event loop is of the kind that workers have."""
    return "asyncio", {"use_uvloop": True}
