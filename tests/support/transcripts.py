"""Commands as documents show them, and what they are shown to print.

A block marked `console` is a transcript: commands behind `$ `, each with its output, in which a
line `…` stands for any lines. A block marked `sh` holds commands without output.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

_FENCE = re.compile(r"^\s*```(\w*)\s*$")
_INLINE = re.compile(r"`(metatide\s[^`]+)`")
_PLACEHOLDER = re.compile(r"…|(?<![\w$])[A-Z][A-Z:_.]+(?![\w=])|\b[NP]\b|//hms\b")
"""What somebody has to put something else in place of."""
_VOLATILE = re.compile(
    r"(?P<time>\d[\d.,]* (?:ms|s|min|h|d)\b)"
    r"|(?P<size>\d[\d.,]* (?:bytes|[kMG]B)\b)"
    r"|(?P<number>\d[\d.,:]*)"
    r"|(?P<path>(?<![\w/:])(?:/[\w.-]+)+)"
    r"|(?P<type>\b[A-Z]+_(?:TABLE|VIEW)\b)"
    r"|(?P<bar>━+)"
    r"|(?P<any>…)"
    r"|(?P<blank>\s+)"
)
_SHAPES = {
    "time": r"\d[\d.,]* (?:ms|s|min|h|d)",
    "size": r"\d[\d.,]* (?:bytes|[kMG]B)",
    "number": r"\d[\d.,:]*",
    "path": r"(?:/[\w.-]+)+",
    "type": r"[A-Z]+_(?:TABLE|VIEW)",
    "bar": "━+",
    "any": ".*",
    "blank": r"\s+",
}


@dataclass
class Command:
    """A command of a document."""

    page: str
    line: int
    text: str
    prints: list[str] = field(default_factory=list)
    is_transcript: bool = True

    @property
    def place(self) -> str:
        return f"{self.page}:{self.line}: {self.text}"

    @property
    def is_template(self) -> bool:
        """Whether the command has to be adapted before it can run."""
        return _PLACEHOLDER.search(self.text) is not None


def commands(page: Path, name: str) -> list[Command]:
    """The commands in the blocks of a page, in order."""
    language, listed = None, list[Command]()
    for number, line in enumerate(page.read_text().splitlines(), 1):
        if fence := _FENCE.match(line):
            language = None if language is not None else fence[1]
        elif language not in ("console", "sh"):
            continue
        elif listed and listed[-1].text.endswith("\\"):
            listed[-1].text = f"{listed[-1].text[:-1].rstrip()} {line.strip()}"
        elif language == "console" and line.startswith("$ "):
            listed.append(Command(name, number, line.removeprefix("$ ")))
        elif language == "sh" and line.strip():
            listed.append(Command(name, number, line, is_transcript=False))
        elif language == "console":
            listed[-1].prints.append(line)
    return listed


def inline_commands(page: Path, name: str) -> Iterator[Command]:
    """The commands of ours that a page names in its text."""
    for match in _INLINE.finditer(page.read_text()):
        line = match.string.count("\n", 0, match.start()) + 1
        yield Command(name, line, " ".join(match[1].split()), is_transcript=False)


def prints_as_shown(shown: Sequence[str], printed: str, *, ordered: bool = True) -> bool:
    """Whether a command has printed what is shown, but for numbers, times, sizes, ports, folders
    and types of tables. Lines of processes that start at the same time have no order.
    """
    lines = [line.strip() for line in printed.splitlines() if line.strip()]
    if not ordered:
        free = [*lines]
        for line in shown:
            like = next((text for text in free if re.fullmatch(_pattern(line), text)), None)
            if like is None:
                return False
            free.remove(like)
        return not free
    pattern = "".join(
        r"(?:.*\n)*" if line == "…" else f"{_pattern(line)}\n" for line in shown if line.strip()
    )
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in lines)) is not None


def _pattern(line: str) -> str:
    """A regular expression for lines of this shape."""
    parts, end = list[str](), 0
    line = line.strip()
    for match in _VOLATILE.finditer(line):
        assert match.lastgroup is not None
        parts += [re.escape(line[end : match.start()]), _SHAPES[match.lastgroup]]
        end = match.end()
    return "".join([*parts, re.escape(line[end:])])
