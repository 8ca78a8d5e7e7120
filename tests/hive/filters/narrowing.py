"""What a filter finds among partitions of which only its spans are read."""

from collections.abc import Callable, Iterable, Sequence

from hive.errors import FilterNotSupportedError
from hive.filters.bounds import Span
from hive.filters.partition_filter import by_filter
from hive.filters.plain_values import unplain_keys
from hive.filters.semantics import PartitionKey
from hive.names import DEFAULT_PARTITION

Partition = tuple[str, ...]


def holds(span: Span, values: Partition) -> bool:
    values = tuple(value or DEFAULT_PARTITION for value in values)
    size = len(span.prefix)
    if values[:size] != span.prefix:
        return False
    value = values[size] if size < len(values) else ""
    return span.low <= value and (span.high is None or value < span.high)


def narrowed(
    text: str, keys: Sequence[PartitionKey], stored: Sequence[Partition]
) -> list[Partition] | None:
    """The partitions that pass; None if the filter is refused."""
    wanted = by_filter(text, keys)
    is_plain = unplain_keys(keys, stored).isdisjoint(wanted.cast)
    spans = wanted.plain_spans if is_plain else wanted.spans
    read = [values for values in stored if any(holds(span, values) for span in spans)]
    return unless_refused(lambda: filter(wanted.matches, read))


def unless_refused(find: Callable[[], Iterable[Partition]]) -> list[Partition] | None:
    try:
        return sorted(find())
    except FilterNotSupportedError:
        return None
