"""The whole system in one simulation: cases that are kept, and what each run must be."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.simulation.plan import make_plan
from tests.simulation.shrinking import CASES, kept, run, story

KEPT: Final = sorted(CASES.glob("*.json"))


@pytest.mark.parametrize("path", KEPT, ids=[path.stem for path in KEPT])
def test_kept_case(path: Path) -> None:
    outcome = run(kept(path))
    assert outcome.error is None, story(outcome)


OTHER: Final = """
import hashlib
from tests.simulation.plan import make_plan
from tests.simulation.shrinking import run
outcome = run(make_plan("again"))
print(hashlib.sha256("\\n".join(outcome.story).encode()).hexdigest())
"""


def test_a_seed_repeats_its_run_in_any_process() -> None:
    outcome = run(make_plan("again"))
    digest = hashlib.sha256("\n".join(outcome.story).encode()).hexdigest()
    other = subprocess.run(
        [sys.executable, "-c", OTHER],
        env={**os.environ, "PYTHONHASHSEED": "7"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert other.stdout.strip() == digest


def test_without_faults_nothing_is_refused() -> None:
    outcome = run(make_plan("calm", faults=False))
    assert outcome.error is None, story(outcome)
    assert outcome.counts["unanswered"] == 0
    assert outcome.counts["settled"] == 1
