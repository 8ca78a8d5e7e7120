"""What commands do where their output can't be written as it is, or at all."""

import os
import subprocess
import sys
from pathlib import Path

METATIDE = (sys.executable, "-m", "metatide")


def test_an_output_that_lacks_characters_has_others_in_their_place() -> None:
    environ = {**os.environ, "PYTHONIOENCODING": "latin-1"}
    for command in ("work", "events", "demo"):
        done = subprocess.run(
            [*METATIDE, command, "--help"], env=environ, capture_output=True, check=False
        )
        assert (done.returncode, done.stderr) == (0, b"")
        assert done.stdout.startswith(f"Usage: metatide {command} ".encode())


def test_a_full_disk_is_said_in_one_line() -> None:
    for arguments in (("work", "--help"), ("config", "show", "--json")):
        with Path("/dev/full").open("wb") as full:
            done = subprocess.run(
                [*METATIDE, *arguments], stdout=full, stderr=subprocess.PIPE, text=True, check=False
            )
        assert done.returncode == 1
        assert done.stderr == "metatide: the output can't be written: No space left on device\n"
