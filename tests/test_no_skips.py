"""That CI fails on a skip, and that nobody else does."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SKIPPING = {
    "a test": "import pytest\ndef test_a():\n    pytest.skip('no engine')\n",
    "a module": "import pytest\npytest.skip('no engine', allow_module_level=True)\n",
    "nothing": "def test_a():\n    pass\n",
}


@pytest.mark.parametrize(
    ("what", "ci", "status"),
    [("a test", "true", 1), ("a module", "true", 1), ("nothing", "true", 0), ("a test", "", 0)],
)
def test_a_skip_fails_the_session_in_ci(tmp_path: Path, what: str, ci: str, status: int) -> None:
    (tmp_path / "test_it.py").write_text(SKIPPING[what])
    command = [sys.executable, "-m", "pytest", "-p", "tests.support.no_skips", "-c", os.devnull]
    environ = {**os.environ, "CI": ci, "PYTHONPATH": str(ROOT), "PYTEST_ADDOPTS": ""}
    done = subprocess.run(
        [*command, str(tmp_path)], cwd=tmp_path, env=environ, capture_output=True, text=True
    )
    assert done.returncode == status, done.stdout
    assert ("CI does not allow" in done.stdout) == (status == 1)
