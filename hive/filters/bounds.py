"""The ranges of a table's partitions, in the order of their raw values, that a filter can match.

Partitions outside of them fail the filter; those inside must still be tested.
"""

from collections.abc import Sequence
from typing import NamedTuple

from hive.collation import BY_BYTES, Collation
from hive.filters.expressions import ORDERS, And, Comparison, Expression, InList, Operator, Or
from hive.filters.like import literal_prefix
from hive.filters.plain_values import of_dates, of_integers
from hive.filters.regions import (
    ALL,
    MAX_INTERVALS,
    Region,
    after,
    coarsened,
    hull,
    intersection,
    is_point,
    point,
    prefix_interval,
    union,
)
from hive.filters.semantics import DATED, KeyType, Meaning, Meanings
from hive.names import DEFAULT_PARTITION


class Span(NamedTuple):
    """Partitions that share their first values, and whose next value lies between two texts."""

    prefix: tuple[str, ...]
    low: str = ""
    """The least next value, inclusive."""
    high: str | None = None
    """The first value above the range; None when it has no upper bound."""


def bounds(
    expression: Expression,
    meanings: Meanings,
    collation: Collation = BY_BYTES,
    *,
    plain: bool = False,
) -> list[Span]:
    """The ranges, in order and disjoint; empty if no partition can pass.

    Texts are ordered by code point, which is the order of their UTF-8 bytes. If the collation
    orders differently, a comparison by it bounds nothing. Orders of numbers and dates bound the
    first key, and only if all of its values are `plain`. They leave several ranges, and seeking to
    each below every value of the keys before would cost more than it saves.
    """
    prefixes: list[tuple[str, ...]] = [()]
    for index in range(len(meanings.keys)):
        region = _Key(index, meanings, collation, plain and index == 0).region(expression)
        if len(region) * len(prefixes) > MAX_INTERVALS:
            region = hull(region)
        if not all(map(is_point, region)):
            if region == ALL:
                break
            return [Span(prefix, *interval) for prefix in prefixes for interval in region]
        prefixes = [(*prefix, low) for prefix in prefixes for low, _ in region]
    return [Span(prefix) for prefix in prefixes]


class _Key(NamedTuple):
    """A key that is to be bounded."""

    position: int
    meanings: Meanings
    collation: Collation
    plain: bool

    def region(self, expression: Expression) -> Region:
        """The values that may pass."""
        match expression:
            case And(terms):
                return self._every(terms)
            case Or(terms):
                return coarsened(union(i for term in terms for i in self.region(term)))
            case InList():
                return self._listed(expression)
            case Comparison():
                compared = self.meanings.of(expression)
                if compared.is_one_text and compared.position == self.position:
                    return self._texts(compared)
                return self._every((expression,))

    def _listed(self, in_list: InList) -> Region:
        listed = self.meanings.of_list(in_list)
        if isinstance(listed, Or):
            return self.region(listed)
        if listed.position != self.position:
            return ALL
        if len(listed.texts) > MAX_INTERVALS:
            return ((min(listed.texts), after(max(listed.texts))),)
        return tuple(map(point, sorted(listed.texts)))

    def _every(self, terms: Sequence[Expression]) -> Region:
        """The values that may pass all terms. Their orders of numbers make one range, because two
        bounds leave fewer texts together than each alone."""
        region, lows, highs = ALL, list[int](), list[int]()
        for term in terms:
            if not isinstance(term, Comparison):
                region = coarsened(intersection(region, self.region(term)))
                continue
            compared = self.meanings.of(term)
            if compared.position == self.position:
                if isinstance(compared.constant, int) and compared.operator in ORDERS:
                    _bound(compared.operator, compared.constant, lows, highs)
                else:
                    region = coarsened(intersection(region, self._texts(compared)))
        if (lows or highs) and self.plain:
            numbers = of_integers(max(lows, default=None), min(highs, default=None))
            region = coarsened(intersection(region, numbers))
        return region

    def _texts(self, compared: Meaning) -> Region:
        operator, text = compared.operator, compared.text
        if compared.kind is KeyType.TEXT:
            if compared.orders_texts and not self.collation.by_bytes:
                return ALL
            return _with_default(_same_texts(operator, text))
        if compared.is_one_text:
            return (point(text),)
        if compared.kind is KeyType.DATE and operator is Operator.EQ and not compared.name_test:
            return (prefix_interval(text),)
        if self.plain and compared.kind in DATED and operator in ORDERS:
            return of_dates(operator, text)
        return ALL


def _bound(operator: Operator, number: int, lows: list[int], highs: list[int]) -> None:
    match operator:
        case Operator.GE:
            lows.append(number)
        case Operator.GT:
            lows.append(number + 1)
        case Operator.LE:
            highs.append(number)
        case Operator.LT:
            highs.append(number - 1)


def _same_texts(operator: Operator, text: str) -> Region:
    match operator:
        case Operator.EQ:
            return (point(text),)
        case Operator.LT:
            return (("", text),) if text else ()
        case Operator.LE:
            return (("", after(text)),)
        case Operator.GT:
            return ((after(text), None),)
        case Operator.GE:
            return ((text, None),)
        case Operator.LIKE:
            prefix, rest = literal_prefix(text)
            return (prefix_interval(prefix) if rest else point(prefix),)
    return ALL


def _with_default(region: Region) -> Region:
    """Moves an empty value to the default partition's name, under which it is stored."""
    if not region or region[0][0]:
        return region
    others = region[1:] if is_point(region[0]) else region
    return union([*others, point(DEFAULT_PARTITION)])
