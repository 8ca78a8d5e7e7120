"""Hive's patterns of names: `*` for any characters, `|` between alternatives, case ignored."""

import re


def compile_pattern(pattern: str) -> re.Pattern[str]:
    """The regular expression of a pattern, to be used with `fullmatch` on names in lower case.

    Everything but `*` and `|` stands for itself: the metastore would take the rest as a regular
    expression, which lets one request stop a server.
    """
    alternatives = (
        ".*".join(re.escape(part) for part in one.strip().lower().split("*"))
        for one in pattern.split("|")
    )
    return re.compile("|".join(f"(?:{one})" for one in alternatives), re.DOTALL)
