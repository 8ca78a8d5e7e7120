"""SQL's LIKE with the backslash as escape."""

import re
from collections.abc import Callable, Iterator

from hive.patterns import stretches

_ONE_PIECE = re.compile(r"\\(?P<escaped>.)|(?P<any>%+)|(?P<one>_)|(?P<plain>[^\\%_]+)", re.DOTALL)


def like(pattern: str) -> Callable[[str], bool]:
    """A test of whole texts against a pattern."""
    prefix, rest = literal_prefix(pattern)
    if not rest:
        return prefix.__eq__
    if not rest.strip("%"):
        return lambda text: text.startswith(prefix)
    fullmatch = re.compile(stretches(list(_split(pattern))), re.DOTALL).fullmatch
    return lambda text: fullmatch(text) is not None


def literal_prefix(pattern: str) -> tuple[str, str]:
    """The prefix of every matching text, and the rest of the pattern."""
    prefix = ""
    for match in _ONE_PIECE.finditer(pattern):
        if match.lastgroup in ("any", "one"):
            return prefix, pattern[match.start() :]
        prefix += match["escaped"] or match["plain"]
    return prefix, ""


def _split(pattern: str) -> Iterator[str]:
    stretch = ""
    for match in _ONE_PIECE.finditer(pattern):
        if match.lastgroup == "any":
            yield stretch
            stretch = ""
        elif match.lastgroup == "one":
            stretch += "."
        else:
            stretch += re.escape(match["escaped"] or match["plain"])
    yield stretch
