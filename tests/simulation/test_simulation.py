"""The whole system in one simulation: what it answers, whatever goes wrong, and what becomes of it.

SIMULATION_SEED=SEED repeats a run; SIMULATION_SECONDS says how long new seeds are tried.
"""

import hashlib
import itertools
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from random import SystemRandom
from typing import Final

import pytest

from tests.simulation.plan import make_plan
from tests.simulation.shrinking import CASES, kept, run, shrunk, story

SEED, SECONDS = "SIMULATION_SEED", "SIMULATION_SECONDS"
SEEDS: Final = 100
"""How many seeds every run of the tests repeats, after which time is left for other tests."""
SHRINK_S: Final = 30.0
KEPT: Final = sorted(CASES.glob("*.json"))


def seeds_of(first: str) -> Iterator[str]:
    """A seed, and those that follow from it."""
    yield first
    for number in itertools.count(1):
        yield f"{first}.{number}"


def until(seconds: float, seeds: Iterator[str]) -> Iterator[str]:
    """So many of the seeds as are begun in this time."""
    deadline = time.monotonic() + seconds
    return itertools.takewhile(lambda _: time.monotonic() < deadline, seeds)


def try_seeds(seeds: Iterable[str]) -> None:
    """Runs each seed; one that fails is shrunk and told."""
    began, totals, simulated_s = time.process_time(), Counter[str](), 0.0
    tried: list[str] = []
    for seed in seeds:
        tried.append(seed)
        outcome = run(make_plan(seed))
        totals += outcome.counts
        simulated_s += outcome.simulated_s
        if outcome.error is not None:
            shortest = shrunk(outcome, SHRINK_S)
            pytest.fail(f"{SEED}={seed}\n{story(shortest)}", pytrace=False)
    used_s = time.process_time() - began
    print(
        f"{len(tried)} seeds from {tried[0]}: {simulated_s:.0f} simulated s in {used_s:.0f} s "
        f"of a core, {totals['fault']} faults, {totals['events']} events, "
        f"{totals['answered']} answers, {totals['cached']} of them from the cache, "
        f"{totals['digests']} digests compared, {totals['resets']} orders of operators"
    )
    assert totals["cached"], "nothing is proved by what isn't cached"


@pytest.mark.timeout(900)
def test_seeds() -> None:
    """The same seeds each time, or the one that the environment names."""
    try_seeds([os.environ[SEED]] if SEED in os.environ else islice(seeds_of("tests"), SEEDS))


@pytest.mark.torture
@pytest.mark.timeout(0)
def test_new_seeds() -> None:
    first = f"{SystemRandom().getrandbits(40):x}"
    try_seeds(until(float(os.environ.get(SECONDS, "3600")), seeds_of(first)))


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
