"""Patterns over names and values, matched in a time that none of them can blow up."""

import re
from collections.abc import Sequence
from typing import Final

from hive.errors import PatternError

MAX_CHARACTERS: Final = 4_096


def compile_pattern(pattern: str) -> re.Pattern[str]:
    """Hive's pattern of names: `*` for any characters, `|` between alternatives, case ignored.

    To be used with `fullmatch` on names in lower case. Everything but `*` and `|` stands for
    itself: the metastore would take the rest as a regular expression, which lets one request stop
    a server.
    """
    if len(pattern) > MAX_CHARACTERS:
        raise PatternError(pattern, f"it has more than {MAX_CHARACTERS} characters")
    alternatives = (
        stretches([re.escape(part) for part in one.strip().lower().split("*")])
        for one in pattern.split("|")
    )
    return re.compile("|".join(f"(?:{one})" for one in alternatives), re.DOTALL)


def stretches(expressions: Sequence[str]) -> str:
    """The regular expression, for DOTALL, of some that follow each other with anything between.

    Each in the middle is taken where it is first found, and never given back: where a later place
    would do, so does the first. So no text makes the search try twice.
    """
    first, *others = expressions
    if not others:
        return first
    *middle, last = others
    return first + "".join(f"(?>.*?{one})" for one in middle if one) + f".*{last}"
