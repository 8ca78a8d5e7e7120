"""Sets of texts, as disjoint intervals in the order of their UTF-8 bytes."""

from collections.abc import Iterable
from typing import Final

MAX_INTERVALS: Final = 256
"""The most intervals; with more, seeking to each costs more than reading what lies between them."""

Interval = tuple[str, str | None]
"""The least text, and the first one above; None where there is no upper bound."""
Region = tuple[Interval, ...]
"""Disjoint intervals, in order."""

ALL: Final[Region] = (("", None),)


def after(text: str) -> str:
    """The next greater text."""
    return f"{text}\0"


def point(text: str) -> Interval:
    return text, after(text)


def is_point(interval: Interval) -> bool:
    return interval[1] == after(interval[0])


def prefix_interval(prefix: str) -> Interval:
    """All texts with this prefix."""
    stem = prefix.rstrip("\U0010ffff")
    if not stem:
        return prefix, None
    last = ord(stem[-1]) + 1
    # Surrogates are skipped, because texts hold none.
    return prefix, stem[:-1] + chr(0xE000 if last == 0xD800 else last)


def coarsened(region: Region) -> Region:
    """The region, or all that lies between its ends if it has too many intervals."""
    return hull(region) if len(region) > MAX_INTERVALS else region


def hull(region: Region) -> Region:
    return ((region[0][0], region[-1][1]),)


def union(intervals: Iterable[Interval]) -> Region:
    merged: list[Interval] = []
    for low, high in sorted(intervals, key=lambda interval: interval[0]):
        last = merged[-1] if merged else None
        if last is None or (last[1] is not None and last[1] < low):
            merged.append((low, high))
        else:
            merged[-1] = last[0], _later(last[1], high)
    return tuple(merged)


def intersection(region: Region, other: Region) -> Region:
    common = []
    at = 0
    for low, high in region:
        while at < len(other):
            other_low, other_high = other[at]
            least, most = max(low, other_low), _earlier(high, other_high)
            if most is None or least < most:
                common.append((least, most))
            if high is not None and (other_high is None or other_high > high):
                break
            at += 1
    return tuple(common)


def _earlier(high: str | None, other: str | None) -> str | None:
    return min(high, other) if high is not None and other is not None else high or other


def _later(high: str | None, other: str | None) -> str | None:
    return max(high, other) if high is not None and other is not None else None
