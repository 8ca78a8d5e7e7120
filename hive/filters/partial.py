"""Partitions by some of their values: those of the first keys, an empty one standing for any."""

from collections.abc import Sequence

from hive.errors import NameFormatError
from hive.filters.expressions import And, Comparison, Expression, Operator, Or
from hive.filters.meaning import PartitionKey
from hive.names import DEFAULT_PARTITION


def with_values(values: Sequence[str], keys: Sequence[str]) -> Expression:
    """The filter of these values, to be evaluated over `as_texts(keys)`."""
    if len(values) > len(keys):
        advice = f"give at most one value for each of the keys {', '.join(keys)}"
        raise NameFormatError(", ".join(values), advice)
    given = zip(keys, values, strict=False)
    return And(tuple(_with_value(key.lower(), value) for key, value in given if value))


def as_texts(keys: Sequence[str]) -> list[PartitionKey]:
    """The keys as strings: values that are given are spelled as the partition's own."""
    return [PartitionKey(key, "string") for key in keys]


def _with_value(key: str, value: str) -> Expression:
    given = Comparison(key, Operator.EQ, value, 0)
    if value != DEFAULT_PARTITION:
        return given
    # An empty value has the same name.
    return Or((given, Comparison(key, Operator.EQ, "", 0)))
