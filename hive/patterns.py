"""Patterns over names and values, matched in bounded time."""

import re
from collections.abc import Sequence
from typing import Final

from hive.errors import PatternError

MAX_CHARACTERS: Final = 4_096
REQUEST_PARTS_MAX: Final = 64
"""How many alternatives and how many stars a request's pattern may have: each name is compared with
all of them.
"""


def compile_pattern(pattern: str, *, with_dots: bool = False) -> re.Pattern[str]:
    """Hive's pattern of names: `*` for any characters, `|` between alternatives, case ignored;
    `with_dots`, a `.` for any one character.

    Use it with `fullmatch` on names in lower case. Everything else stands for itself: the metastore
    would take the rest as a regular expression, which lets one request stop a server.
    """
    if len(pattern) > MAX_CHARACTERS:
        raise PatternError(pattern, f"it has more than {MAX_CHARACTERS} characters")
    dot = "." if with_dots else re.escape(".")
    alternatives = (
        stretches(
            [
                dot.join(map(re.escape, part.split(".")))
                for part in alternative.strip().lower().split("*")
            ]
        )
        for alternative in pattern.split("|")
    )
    return re.compile("|".join(f"(?:{alternative})" for alternative in alternatives), re.DOTALL)


def compile_request_pattern(pattern: str, *, with_dots: bool = False) -> re.Pattern[str]:
    """The same for the pattern of a request, which must not keep others waiting for long."""
    for sign, what in (("|", "bars"), ("*", "stars")):
        if pattern.count(sign) > REQUEST_PARTS_MAX:
            raise PatternError(pattern, f"it has more than {REQUEST_PARTS_MAX} {what}")
    return compile_pattern(pattern, with_dots=with_dots)


def stretches(expressions: Sequence[str]) -> str:
    """A regular expression (DOTALL) that matches expressions in this order, with anything between.

    Each middle expression matches at the first place it can and never backtracks: if a later place
    leads to a match, the first one does too. So no text is searched twice.
    """
    first, *others = expressions
    if not others:
        return first
    *middle, last = others
    return (
        first + "".join(f"(?>.*?{expression})" for expression in middle if expression) + f".*{last}"
    )
