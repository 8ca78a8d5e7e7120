"""What people see of Spark's tasks."""

from functools import partial
from io import StringIO
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from metatide.spark import progress

STAGES = {1: SimpleNamespace(numCompletedTasks=3), 2: SimpleNamespace(numCompletedTasks=4), 3: None}
CONTEXT: Any = SimpleNamespace(
    statusTracker=lambda: SimpleNamespace(
        getActiveStageIds=lambda: [*STAGES], getStageInfo=STAGES.__getitem__
    )
)


@pytest.mark.parametrize("is_terminal", [False, True])
def test_the_tasks_of_running_stages_are_counted(
    monkeypatch: pytest.MonkeyPatch, is_terminal: bool
) -> None:
    screen = StringIO()
    console = partial(Console, file=screen, force_terminal=is_terminal, width=100)
    monkeypatch.setattr(progress, "PlainConsole", lambda stderr: console())
    with progress.showing_tasks(CONTEXT, 9):
        pass
    assert ("7/9" in screen.getvalue()) == is_terminal
