"""The seeds that find the bugs which are put back.

`python -m tests.simulation.bug_seeds` prints the one of each bug that is to be written down in
bugs.py after the simulation has changed: tests try it first.
"""

import time
from typing import Final

from tests.simulation.bugs import BUGS, Bug, put_back
from tests.simulation.plan import make_plan
from tests.simulation.shrinking import CASES, kept, run
from tests.simulation.world import Outcome

FIND_S: Final = 60.0
"""So much time of a core a bug may take."""


def find(bug: Bug) -> tuple[int | str, Outcome] | None:
    """The first seed that fails with this bug, and its run: the one that is written down, or
    another one.
    """
    began = time.process_time()
    with put_back(bug):
        for seed in [bug.seed, *range(10_000)]:
            is_case = isinstance(seed, str)
            outcome = run(kept(CASES / f"{seed}.json") if is_case else make_plan(f"bug {seed}"))
            if outcome.error is not None:
                return seed, outcome
            if time.process_time() - began > FIND_S:
                break
    return None


if __name__ == "__main__":
    for bug in BUGS:
        seed_and_outcome = find(bug)
        print(seed_and_outcome[0] if seed_and_outcome else "none", bug.name, flush=True)
