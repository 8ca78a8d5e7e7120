"""A filter in the form that the store needs: where to look, and what to keep."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from hive.collation import BY_BYTES, Collation
from hive.filters.bounds import Span, bounds
from hive.filters.expressions import ORDERS, Comparison, Expression, InList, Operator, Or
from hive.filters.parser import parse_filter
from hive.filters.predicate import predicate
from hive.filters.semantics import (
    CASTS,
    DATED,
    Cast,
    KeyType,
    Meaning,
    Meanings,
    PartitionKey,
    Predicate,
    Values,
)


class PartitionFilter(NamedTuple):
    """A filter for a table with certain keys."""

    spans: list[Span]
    """The ranges, in the order of raw values, that contain every partition that passes, and those
    whose values must be compared, since the filter is refused where they can't be."""
    matches: Predicate
    """Whether the raw values of a partition pass; raises when they can't be compared."""
    plain_spans: list[Span]
    """The ranges that contain every partition that passes, if all values of the `cast` keys are
    plain."""
    cast: frozenset[int]
    """The positions of keys whose values are compared as numbers or dates."""


def by_filter(
    text: str, keys: Sequence[PartitionKey], collation: Collation = BY_BYTES
) -> PartitionFilter:
    """A filter that selects the partitions that a metastore would in a database with this
    collation."""
    expression, meanings = parse_filter(text), Meanings(keys)
    # The predicate comes first, because building it checks the limits.
    matches = predicate(expression, meanings, collation)
    spans = plain_spans = bounds(expression, meanings, collation)
    cast = list(_cast(expression, meanings))
    dated = {
        compared.position: CASTS[compared.kind]
        for compared in cast
        if compared.kind in DATED and compared.operator is not Operator.EQ
    }
    if dated:
        # A value that is no date, in any partition, makes the metastore compare all as texts.
        spans, matches = [Span(())], _comparing(dated, matches)
    if any(compared.position == 0 and compared.operator in ORDERS for compared in cast):
        plain_spans = bounds(expression, meanings, collation, plain=True)
    positions = frozenset(compared.position for compared in cast)
    return PartitionFilter(spans, matches, plain_spans, positions)


def _comparing(casts: Mapping[int, Cast], matches: Predicate) -> Predicate:
    """The test of partitions that compares the values at these positions in each of them."""

    def test(values: Values) -> bool:
        for position, cast in casts.items():
            cast(values[position])
        return matches(values)

    return test


def _cast(expression: Expression, meanings: Meanings) -> Iterator[Meaning]:
    """The comparisons that cast values to numbers or dates."""
    if isinstance(expression, Comparison):
        compared = meanings.of(expression)
        if compared.kind is not KeyType.TEXT and not compared.is_one_text:
            yield compared
    elif isinstance(expression, InList):
        listed = meanings.of_list(expression)
        if isinstance(listed, Or):
            yield from _cast(listed, meanings)
    else:
        for term in expression.terms:
            yield from _cast(term, meanings)
