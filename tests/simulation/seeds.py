"""Runs many seeds; one that fails is shrunk and told."""

import itertools
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from random import SystemRandom
from typing import Final, NamedTuple

import pytest

from tests.simulation.plan import make_plan
from tests.simulation.shrinking import run, shrunk, story
from tests.support.checkout import revision

SEED: Final = "SIMULATION_SEED"
SHRINK_S: Final = 30.0


def new_seed() -> str:
    return f"{SystemRandom().getrandbits(40):x}"


def commits_seed() -> str:
    """The seed that the checked-out commit gives, so that each change is tried by seeds of its own
    that whoever makes it can try before; outside of a checkout, a new one.
    """
    return revision() or new_seed()


def seeds_of(first: str) -> Iterator[str]:
    """A seed, and those that follow from it."""
    yield first
    for number in itertools.count(1):
        yield f"{first}.{number}"


def until(seconds: float, seeds: Iterator[str]) -> Iterator[str]:
    """So many of the seeds as are begun in this time."""
    deadline = time.monotonic() + seconds
    return itertools.takewhile(lambda _: time.monotonic() < deadline, seeds)


class FailedSeed(NamedTuple):
    """A seed that fails, and how."""

    seed: str
    story: str


def try_for(first: str, seconds: float) -> str | FailedSeed:
    """Tries a seed and those that follow from it for so long. Returns what ran, as a line."""
    failed: list[str] = []
    try:
        return try_seeds(until(seconds, seeds_of(first)), on_failure=failed.append)
    except pytest.fail.Exception as failure:
        return FailedSeed(failed[0], str(failure))


def try_seeds(
    seeds: Iterable[str],
    *,
    on_failure: Callable[[str], None] = lambda _: None,
    shrink_s: float = SHRINK_S,
) -> str:
    """Runs each seed; fails at one that fails. Returns what ran, as a line."""
    began, totals, simulated_s = time.process_time(), Counter[str](), 0.0
    first, tried = "", 0
    for seed in seeds:
        first, tried = first or seed, tried + 1
        outcome = run(make_plan(seed))
        totals += outcome.counts
        simulated_s += outcome.simulated_s
        if outcome.error is not None:
            on_failure(seed)
            shortest = shrunk(outcome, shrink_s)
            pytest.fail(f"{SEED}={seed}\n{story(shortest)}", pytrace=False)
    used_s = time.process_time() - began
    assert totals["cached"], "nothing is proved by what isn't cached"
    return (
        f"{tried} seeds from {first}: {simulated_s:.0f} simulated s in {used_s:.0f} s "
        f"of a core, {totals['fault']} faults, {totals['events']} events, "
        f"{totals['answered']} answers, {totals['cached']} of them from the cache, "
        f"{totals['digests']} digests compared, {totals['resets']} orders of operators"
    )
