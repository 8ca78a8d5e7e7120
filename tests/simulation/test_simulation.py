"""The whole system in one simulation: what it answers, whatever goes wrong, and what becomes of it.

SIMULATION_SEED=SEED repeats a run; SIMULATION_SECONDS says how long new seeds are tried.
"""

import hashlib
import os
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from random import SystemRandom
from typing import Final

import pytest

from tests.simulation.plan import make_plan
from tests.simulation.shrinking import CASES, kept, run, shrunk, story

SEED, SECONDS = "SIMULATION_SEED", "SIMULATION_SECONDS"
SHRINK_S: Final = 30.0
KEPT: Final = sorted(CASES.glob("*.json"))


def try_seeds(first: str, seconds: float) -> None:
    """Tries a seed and those that follow from it; a failing one is shrunk and told."""
    began, totals, simulated_s = time.process_time(), Counter[str](), 0.0
    deadline, number = time.monotonic() + seconds, 0
    while number == 0 or time.monotonic() < deadline:
        seed = first if number == 0 else f"{first}.{number}"
        outcome = run(make_plan(seed))
        totals += outcome.counts
        simulated_s += outcome.simulated_s
        if outcome.error is not None:
            shortest = shrunk(outcome, SHRINK_S)
            pytest.fail(f"{SEED}={seed}\n{story(shortest)}", pytrace=False)
        number += 1
        if SEED in os.environ:
            break
    used_s = time.process_time() - began
    print(
        f"{number} seeds from {first}: {simulated_s:.0f} simulated s in {used_s:.0f} s of a core, "
        f"{totals['fault']} faults, {totals['events']} events, {totals['answered']} answers, "
        f"{totals['cached']} of them from the cache, {totals['digests']} digests compared, "
        f"{totals['resets']} orders of operators"
    )
    assert totals["cached"], "nothing is proved by what isn't cached"


def test_new_seeds() -> None:
    first = os.environ.get(SEED, f"{SystemRandom().getrandbits(40):x}")
    try_seeds(first, float(os.environ.get(SECONDS, "60")))


@pytest.mark.torture
@pytest.mark.timeout(0)
def test_new_seeds_for_an_hour() -> None:
    try_seeds(f"{SystemRandom().getrandbits(40):x}", 3600)


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
