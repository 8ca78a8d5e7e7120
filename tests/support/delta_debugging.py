"""Delta debugging: finds the few of many things that are needed to show something."""

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def fewest(items: list[T], shows: Callable[[list[T]], bool]) -> list[T]:
    """Items of which none can be left out; all of them show what is sought."""
    size = max(1, len(items) // 2)
    while True:
        at = 0
        while at < len(items):
            fewer = [*items[:at], *items[at + size :]]
            if fewer and shows(fewer):
                items = fewer
            else:
                at += size
        if size == 1:
            return items
        size //= 2
