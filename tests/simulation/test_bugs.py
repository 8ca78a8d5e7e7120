"""The simulation is worth something only if it finds bugs: real ones are put back, one by one."""

import time
from typing import Final

import pytest

from tests.simulation.bugs import BUGS, Bug, put_back
from tests.simulation.plan import make_plan
from tests.simulation.shrinking import run, shrunk, story
from tests.simulation.world import Outcome

FIND_S: Final = 60.0
"""So much time of a core a bug may take."""
SHRINK_S: Final = 20.0


def find(bug: Bug) -> Outcome:
    """The first run that fails with this bug: of the seed that found it when it was put back
    first, or of another one."""
    began = time.process_time()
    with put_back(bug):
        for number in [bug.seed, *range(10_000)]:
            outcome = run(make_plan(f"bug {number}"))
            if outcome.error is not None:
                return outcome
            if time.process_time() - began > FIND_S:
                break
    pytest.fail(f"{bug.name}: not found within {FIND_S:.0f} s")


@pytest.mark.timeout(900)
@pytest.mark.parametrize("bug", BUGS, ids=str)
def test_bug_is_found(bug: Bug) -> None:
    outcome = find(bug)
    sound = run(outcome.plan)
    assert sound.error is None, f"fails without the bug, too:\n{story(sound)}"


@pytest.mark.timeout(900)
def test_failing_seed_shrinks_to_a_short_story() -> None:
    bug = next(bug for bug in BUGS if "gap between records" in bug.name)
    outcome = find(bug)
    with put_back(bug):
        shortest = shrunk(outcome, SHRINK_S)
        again = run(shortest.plan)
    assert len(shortest.plan.steps) < len(outcome.plan.steps) / 2
    assert again.story == shortest.story
    text = story(shortest)
    assert f"seed {outcome.plan.seed}" in text
    assert str(shortest.error) in text
