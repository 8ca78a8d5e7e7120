"""What people see of what takes long."""

from io import StringIO

import pytest
from rich.console import Console

from metatide.stack.progress import Progress


@pytest.mark.parametrize("is_terminal", [False, True])
def test_a_detail_is_shown_on_a_terminal_alone(is_terminal: bool) -> None:
    screen = StringIO()
    shown = Progress("fetching", Console(file=screen, force_terminal=is_terminal, width=100))
    shown.update("1 so far")
    assert screen.getvalue() == ""
    shown.show()
    shown.update("2 so far")
    shown.close()
    if is_terminal:
        assert "fetching: 2 so far" in screen.getvalue()
        assert "1 so far" not in screen.getvalue()
    else:
        assert screen.getvalue() == "metatide: fetching\n"
