"""The ranges of a table's partitions, in the order of their raw values, that a filter can match.

Partitions outside of them fail the filter; those inside must still be tested.
"""

from collections.abc import Iterable, Sequence
from functools import reduce
from typing import Final, NamedTuple

from hive.collation import BY_BYTES, Collation
from hive.filters.expressions import And, Comparison, Expression, Operator, Or
from hive.filters.like import literal_prefix
from hive.filters.semantics import KeyType, Meaning, PartitionKey, meaning
from hive.names import DEFAULT_PARTITION

MAX_SPANS: Final = 256
"""The most ranges; with more, seeking to each costs more than reading what lies between them."""


class Span(NamedTuple):
    """Partitions that share their first values, and whose next value lies between two texts."""

    prefix: tuple[str, ...]
    low: str = ""
    """The least next value, inclusive."""
    high: str | None = None
    """The first value above the range; None when it has no upper bound."""


Interval = tuple[str, str | None]
Region = tuple[Interval, ...]
"""Disjoint intervals of texts, in order."""

_ALL: Final[Region] = (("", None),)


def bounds(
    expression: Expression, keys: Sequence[PartitionKey], collation: Collation = BY_BYTES
) -> list[Span]:
    """The ranges, in order and disjoint; empty if no partition can pass.

    Texts are ordered by code point, which is the order of their UTF-8 bytes. If the collation
    orders differently, a comparison by it bounds nothing.
    """
    prefixes: list[tuple[str, ...]] = [()]
    for index in range(len(keys)):
        region = _region(expression, index, keys, collation)
        if len(region) * len(prefixes) > MAX_SPANS:
            region = _hull(region)
        if not all(map(_is_point, region)):
            if region == _ALL:
                break
            return [Span(prefix, *interval) for prefix in prefixes for interval in region]
        prefixes = [(*prefix, low) for prefix in prefixes for low, _ in region]
    return [Span(prefix) for prefix in prefixes]


def _region(
    expression: Expression, index: int, keys: Sequence[PartitionKey], collation: Collation
) -> Region:
    """The values of one key that may pass."""
    match expression:
        case And(terms):
            regions = (_region(term, index, keys, collation) for term in terms)
            return reduce(lambda region, other: _few(_both(region, other)), regions, _ALL)
        case Or(terms):
            return _few(_united(i for term in terms for i in _region(term, index, keys, collation)))
        case Comparison(key):
            if key != keys[index].name.lower():
                return _ALL
            compared = meaning(expression, keys)
            if compared.orders_texts and not collation.by_bytes:
                return _ALL
            return _with_default(_texts(compared))


def _texts(compared: Meaning) -> Region:
    if compared.is_one_text:
        return (_point(compared.text),)
    match compared.kind, compared.operator:
        case KeyType.TEXT, Operator.LT:
            return (("", compared.text),) if compared.text else ()
        case KeyType.TEXT, Operator.LE:
            return (("", _after(compared.text)),)
        case KeyType.TEXT, Operator.GT:
            return ((_after(compared.text), None),)
        case KeyType.TEXT, Operator.GE:
            return ((compared.text, None),)
        case KeyType.TEXT, Operator.LIKE:
            prefix, rest = literal_prefix(compared.text)
            return (_beginning(prefix) if rest else _point(prefix),)
        case KeyType.DATE, Operator.EQ if compared.name_test is None:
            return (_beginning(compared.text),)
    return _ALL


def _with_default(region: Region) -> Region:
    """Moves an empty value to the default partition's name, under which it is stored."""
    if not region or region[0][0]:
        return region
    others = region[1:] if _is_point(region[0]) else region
    return _united([*others, _point(DEFAULT_PARTITION)])


def _after(text: str) -> str:
    """The next greater text."""
    return f"{text}\0"


def _point(text: str) -> Interval:
    return text, _after(text)


def _is_point(interval: Interval) -> bool:
    return interval[1] == _after(interval[0])


def _beginning(prefix: str) -> Interval:
    """The interval of texts with this prefix."""
    stem = prefix.rstrip("\U0010ffff")
    if not stem:
        return prefix, None
    last = ord(stem[-1]) + 1
    # Surrogates are skipped, because texts hold none.
    return prefix, stem[:-1] + chr(0xE000 if last == 0xD800 else last)


def _few(region: Region) -> Region:
    return _hull(region) if len(region) > MAX_SPANS else region


def _hull(region: Region) -> Region:
    return ((region[0][0], region[-1][1]),)


def _united(intervals: Iterable[Interval]) -> Region:
    united: list[Interval] = []
    for low, high in sorted(intervals, key=lambda interval: interval[0]):
        last = united[-1] if united else None
        if last is None or (last[1] is not None and last[1] < low):
            united.append((low, high))
        else:
            united[-1] = last[0], _later(last[1], high)
    return tuple(united)


def _both(region: Region, other: Region) -> Region:
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
