"""What people see of a rebuild; with a topic, see `tests.processors.replay.test_rebuild`."""

from functools import partial
from io import StringIO

import pytest
from rich.console import Console

from metatide.cli import rebuild
from processors.replay.replay import Progress


@pytest.mark.parametrize("is_terminal", [False, True])
def test_shards_that_have_not_begun_count_like_the_others(
    monkeypatch: pytest.MonkeyPatch, is_terminal: bool
) -> None:
    screen = StringIO()
    console = partial(Console, file=screen, force_terminal=is_terminal, width=100)
    monkeypatch.setattr(rebuild, "PlainConsole", lambda stderr: console())
    with rebuild._bars(4) as report:
        report(Progress(0, 0, 10, 100))
        report(Progress(1, 0, 30, 300))
    assert ("40/800" in screen.getvalue()) == is_terminal
