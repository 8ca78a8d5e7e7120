"""Runs one run after the other until the time is over."""

import time
from collections.abc import Callable
from random import Random
from typing import Final

from tests.differential.run import Counts, running
from tests.differential.shrinking import Shrinking, Story
from tests.differential.world import Standing

SHRINK_S: Final = 90.0
KEPT: Final = 4
"""One in so many runs leaves its objects for the audit."""


def series(
    standing: Standing, seed: int, seconds: float, tell: Callable[[Story], bool], first: int = 0
) -> Counts:
    """Passes each difference to `tell` when it is found, until that returns True."""
    counts, deadline, number = Counts(), time.monotonic() + seconds, first
    while time.monotonic() < deadline:
        result = None
        try:
            with running(standing, counts) as run:
                result = run.go(Random(f"{seed}:{number}"))
                counts.unlogged += run.doing.unlogged
                if result is not None or run.doing.unlogged or number % KEPT:
                    run.end()
        except TimeoutError:
            counts.stuck += 1
        if result is not None:
            shrinking = Shrinking(standing, result, time.monotonic() + SHRINK_S)
            if tell(shrinking.story(f"{seed}:{number}")):
                break
        number += 1
    return counts
