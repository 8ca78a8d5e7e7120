"""A filter in the form that the store needs: where to look, and what to keep."""

from collections.abc import Sequence
from typing import NamedTuple

from hive.collation import BY_BYTES, Collation
from hive.filters.bounds import Span, bounds
from hive.filters.parser import parse_filter
from hive.filters.predicate import predicate
from hive.filters.semantics import PartitionKey, Predicate


class PartitionFilter(NamedTuple):
    """A filter for a table with certain keys."""

    spans: list[Span]
    """The ranges, in the order of raw values, that contain every partition that passes."""
    matches: Predicate
    """Whether the raw values of a partition pass; raises when they can't be compared."""


def by_filter(
    text: str, keys: Sequence[PartitionKey], collation: Collation = BY_BYTES
) -> PartitionFilter:
    """A filter that selects the partitions that a metastore would in a database with this
    collation."""
    expression = parse_filter(text)
    # The predicate comes first, because building it checks the limits.
    matches = predicate(expression, keys, collation)
    return PartitionFilter(bounds(expression, keys, collation), matches)
