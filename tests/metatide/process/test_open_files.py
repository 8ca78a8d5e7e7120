"""A process of its own raises its limit of open files."""

import subprocess
import sys

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
