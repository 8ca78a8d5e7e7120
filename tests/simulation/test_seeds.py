"""Seeds of the simulation: the same ones each time, and new ones.

SIMULATION_SEED=SEED repeats a run; SIMULATION_SECONDS says how long new seeds are tried.
"""

import os
from concurrent.futures import ProcessPoolExecutor
from itertools import chain, islice, repeat
from multiprocessing import get_context
from typing import Final

import pytest

from tests.simulation.bugs import BUGS, put_back
from tests.simulation.seeds import (
    SEED,
    FailedSeed,
    commits_seed,
    new_seed,
    seeds_of,
    try_for,
    try_seeds,
    until,
)
from tests.support.summary import Say

SECONDS: Final = "SIMULATION_SECONDS"
SEEDS: Final = 30
"""How many seeds every run of the tests repeats."""
MINUTES_S: Final = 180.0
FAILED: Final = "simulation/failed"
"""Where pytest's cache keeps the seeds that failed: they are the first to be tried again."""


@pytest.mark.timeout(900)
def test_seeds() -> None:
    """The same seeds each time, or the one that the environment names."""
    print(try_seeds([os.environ[SEED]] if SEED in os.environ else islice(seeds_of("tests"), SEEDS)))


def _try_new_seeds(config: pytest.Config, say: Say, first: str, seconds: float) -> None:
    assert config.cache is not None
    failed = config.cache.get(FAILED, [])
    section = "new seeds of the simulation"
    say(section, f"the first is {first}")
    seeds = chain(failed, until(seconds, seeds_of(first)))
    say(section, try_seeds(seeds, on_failure=lambda seed: config.cache.set(FAILED, [seed])))
    config.cache.set(FAILED, [])


@pytest.mark.seeds
@pytest.mark.timeout(900)
def test_seeds_of_the_commit(request: pytest.FixtureRequest, say: Say) -> None:
    _try_new_seeds(request.config, say, commits_seed(), MINUTES_S)


@pytest.mark.random
@pytest.mark.timeout(900)
def test_new_seeds(request: pytest.FixtureRequest, say: Say) -> None:
    _try_new_seeds(request.config, say, new_seed(), MINUTES_S)


@pytest.mark.torture
@pytest.mark.timeout(0)
def test_new_seeds_for_long_on_all_cores(request: pytest.FixtureRequest, say: Say) -> None:
    seconds = float(os.environ.get(SECONDS, "3600"))
    firsts = [new_seed() for _ in range(os.cpu_count() or 1)]
    with ProcessPoolExecutor(len(firsts), get_context("spawn")) as cores:
        runs = list(cores.map(try_for, firsts, repeat(seconds)))
    failures = [run for run in runs if isinstance(run, FailedSeed)]
    assert request.config.cache is not None
    request.config.cache.set(FAILED, [failure.seed for failure in failures])
    for run in runs:
        if isinstance(run, str):
            say("new seeds of the simulation", run)
    assert not failures, "\n".join(failure.story for failure in failures)


def test_failing_seed_is_told_and_named() -> None:
    bug = next(bug for bug in BUGS if "gap between records" in bug.name)
    failed: list[str] = []
    with put_back(bug), pytest.raises(pytest.fail.Exception) as failure:
        try_seeds(
            (f"bug {number}" for number in (bug.seed, *range(100))),
            on_failure=failed.append,
            shrink_s=1.0,
        )
    [seed] = failed
    assert f"{SEED}={seed}\n" in str(failure.value)
    assert "planned:" in str(failure.value)
