"""The corpora: statements in files, each of which says what it is about."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_READS = ("SELECT", "SHOW", "DESCRIBE", "EXPLAIN")
ADMINISTRATOR = "hive"


@dataclass(frozen=True)
class Statement:
    """A statement with its placeholders, and the user who runs it."""

    place: str
    text: str
    user: str
    fails: bool

    def __str__(self) -> str:
        return f"{self.place}: {self.text}"

    @property
    def reads(self) -> bool:
        return self.text.startswith(_READS)

    @property
    def sets(self) -> bool:
        """Whether it changes the session alone."""
        return self.text.startswith(("SET ", "RELOAD "))

    @property
    def is_ordered(self) -> bool:
        return "ORDER BY" in self.text


def statements(file: Path) -> Iterator[Statement]:
    """The statements of a file, which end with a semicolon at the end of a line.

    Before one, `-- as NAME` names the user of all that follow, and `-- fails` says that this one
    fails wherever it runs.
    """
    user, fails = ADMINISTRATOR, False
    lines: list[str] = []
    for number, line in enumerate(file.read_text().splitlines(), start=1):
        if change := re.fullmatch(r"-- as (\w+)", line):
            user = change[1]
        elif line == "-- fails":
            fails = True
        elif not line.startswith("--"):
            lines.append(line.removesuffix(";"))
            if line.endswith(";"):
                yield Statement(f"{file.name}:{number}", "\n".join(lines), user, fails)
                lines, fails = [], False
    assert not lines, f"the last statement of {file} has no end"
