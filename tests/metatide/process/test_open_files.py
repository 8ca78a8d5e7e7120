"""A process of its own raises its limit of open files."""

import resource
import subprocess
import sys

import pytest
from structlog.testing import capture_logs

from metatide.process.open_files import allow_open_files

PROGRAM = """
import resource
from metatide.process.open_files import allow_open_files
resource.setrlimit(resource.RLIMIT_NOFILE, (100, 200))
allow_open_files()
print(*resource.getrlimit(resource.RLIMIT_NOFILE))
allow_open_files()
"""


def test_the_soft_limit_becomes_the_hard_one() -> None:
    ended = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    assert (ended.stdout, ended.stderr) == ("200 200\n", "")


@pytest.mark.parametrize("error", [OSError("no"), ValueError("no")])
def test_a_limit_that_the_system_refuses_stays(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def refuse(_number: int, _limits: tuple[int, int]) -> None:
        raise error

    monkeypatch.setattr(resource, "getrlimit", lambda _: (100, 200))
    monkeypatch.setattr(resource, "setrlimit", refuse)
    with capture_logs() as lines:
        allow_open_files()
    [line] = lines
    assert (line["limit"], line["why"]) == (100, "no")
