"""The simulation is worth something only if it finds bugs: real ones are put back, one by one."""

from typing import Final

import pytest

from tests.simulation.bug_seeds import FIND_S, find
from tests.simulation.bugs import BUGS, Bug, put_back
from tests.simulation.shrinking import run, shrunk, story
from tests.simulation.world import Outcome

pytestmark = pytest.mark.slow

SHRINK_S: Final = 20.0


def found(bug: Bug) -> Outcome:
    """A run that fails with this bug."""
    seed_and_outcome = find(bug)
    assert seed_and_outcome is not None, f"{bug.name}: not found within {FIND_S:.0f} s"
    return seed_and_outcome[1]


@pytest.mark.timeout(900)
@pytest.mark.parametrize("bug", BUGS, ids=str)
@pytest.mark.by_turns(2)
def test_bug_is_found(bug: Bug) -> None:
    outcome = found(bug)
    sound = run(outcome.plan)
    assert sound.error is None, f"fails without the bug, too:\n{story(sound)}"


@pytest.mark.timeout(900)
def test_failing_seed_shrinks_to_a_short_story() -> None:
    bug = next(bug for bug in BUGS if "gap between records" in bug.name)
    outcome = found(bug)
    with put_back(bug):
        shortest = shrunk(outcome, SHRINK_S)
        again = run(shortest.plan)
    assert len(shortest.plan.steps) < len(outcome.plan.steps) / 2
    assert again.story == shortest.story
    text = story(shortest)
    assert f"seed {outcome.plan.seed}" in text
    assert str(shortest.error) in text
