"""What a query of Prometheus names: just so much of the language as our queries use."""

import re
from typing import NamedTuple

NAME = r"[a-zA-Z_][a-zA-Z0-9_]*"
SELECTOR = re.compile(rf"\b({NAME})(?:\{{([^}}]*)\}}|(?!\w))(?!\s*\()")
MATCHER = re.compile(rf'\s*({NAME})\s*(=~|!~|!=|=)\s*"([^"]*)"\s*')
GROUPING = re.compile(r"\b(by|without|on|ignoring)\s*\(([^)]*)\)")
WORDS = frozenset(("or", "and", "unless", "by", "without", "on", "bool", "offset"))


class Selector(NamedTuple):
    """Series by a name, and what their labels must be."""

    name: str
    matchers: tuple[tuple[str, str, str], ...]


class Named(NamedTuple):
    """What a query names."""

    selectors: tuple[Selector, ...]
    grouped_by: frozenset[str]


def named(query: str) -> Named:
    """Raises ValueError on matchers that it can't read."""
    grouped = {
        label.strip() for _, labels in GROUPING.findall(query) for label in labels.split(",")
    }
    rest = re.sub(r"\[[^\]]*\]", "", GROUPING.sub("", query))
    selectors = [
        Selector(name, tuple(_matchers(matchers)))
        for name, matchers in SELECTOR.findall(rest)
        if name not in WORDS
    ]
    return Named(tuple(selectors), frozenset(grouped))


def _matchers(text: str) -> list[tuple[str, str, str]]:
    parts = [part for part in text.split(",") if part]
    found = [MATCHER.fullmatch(part) for part in parts]
    if None in found:
        raise ValueError(f"no matchers: {text}")
    return [(one[1], one[2], one[3]) for one in found if one]
