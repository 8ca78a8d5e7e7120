"""That shells complete commands and options, as docs/reference.md says."""

import os
import subprocess
import sys
from pathlib import Path

import pytest


def completions(words: str) -> list[str]:
    """What bash offers in place of the last word."""
    environ = {
        **os.environ,
        "_METATIDE_COMPLETE": "bash_complete",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split(" ")) - 1),
    }
    metatide = Path(sys.executable).with_name("metatide")
    done = subprocess.run([metatide], env=environ, capture_output=True, text=True, check=True)
    return [line.partition(",")[2] for line in done.stdout.splitlines()]


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("metatide pre", ["prewarm"]),
        ("metatide admin re", ["refresh", "reset", "resume"]),
        ("metatide get tables --lim", ["--limit"]),
        ("metatide get tables --consistency l", ["latest"]),
    ],
)
def test_a_word_is_completed(words: str, offered: list[str]) -> None:
    assert completions(words) == offered
