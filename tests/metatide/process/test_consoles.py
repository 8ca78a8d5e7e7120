"""That commands print texts as they are, whatever these look like."""

import re
from io import StringIO
from pathlib import Path

from rich.table import Table

import metatide
from metatide.process.consoles import PlainConsole

ODD = "see [draft] and [/draft], http://[fd00::1]:8080 :smile:"
_RICHER = re.compile(r"(?<!Plain)\bConsole\(")


def test_texts_that_look_like_markup_are_printed_as_they_are() -> None:
    written = StringIO()
    console = PlainConsole(file=written, width=120)
    console.print(ODD, style="bold")
    table = Table("text")
    table.add_row(ODD)
    console.print(table)
    assert written.getvalue().count(ODD) == 2


def test_no_command_prints_on_another_console() -> None:
    modules = Path(metatide.__file__).parent.rglob("*.py")
    assert not [str(module) for module in modules if _RICHER.search(module.read_text())]
