"""The secret by which workers know each other."""

from pathlib import Path

import pytest


@pytest.fixture
def workers_secret(tmp_path: Path) -> Path:
    """The file that holds it."""
    path = tmp_path / "secret"
    path.write_text("5" * 64)
    return path
