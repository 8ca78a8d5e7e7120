"""Values that are spelled plainly: they can be compared, and their texts are in a known order.

A whole number is plain as digits, after a minus at most; a date as `yyyy-mm-dd`; a timestamp as
`yyyy-mm-dd hh:mm:ss`, with or without a fraction. The name of the default partition is plain, too.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from hive.filters.expressions import Operator
from hive.filters.regions import Interval, Region, after, prefix_interval, union
from hive.filters.semantics import KeyType, PartitionKey, Values, kind_of
from hive.filters.values import is_plain_date, is_plain_integer, is_plain_timestamp
from hive.names import DEFAULT_PARTITION

_IS_PLAIN: Final[dict[KeyType, Callable[[str], bool]]] = {
    KeyType.INTEGER: is_plain_integer,
    KeyType.DATE: is_plain_date,
    KeyType.TIMESTAMP: is_plain_timestamp,
}


def unplain_keys(keys: Sequence[PartitionKey], partitions: Iterable[Values]) -> frozenset[int]:
    """The positions of keys that any of these partitions has a value for which isn't plain. Texts
    are always plain, because they are compared as they are."""
    tests = [
        (position, test)
        for position, key in enumerate(keys)
        if (test := _IS_PLAIN.get(kind_of(key.type) or KeyType.TEXT)) is not None
    ]
    unplain = set[int]()
    for values in partitions:
        for position, is_plain in tests:
            value = values[position] if position < len(values) else ""
            if not is_plain(value) and value != DEFAULT_PARTITION:
                unplain.add(position)
        if len(unplain) == len(tests):
            break
    return frozenset(unplain)


def of_integers(low: int | None, high: int | None) -> Region:
    """Texts among which all plain spellings of the numbers between two numbers are; None is no
    bound.

    Numbers with zeros before them are all included.
    """
    intervals: list[Interval] = [("-0", "-1"), ("0", "1")]
    if high is None or high > 0:
        intervals += _of_digits("", 1 if low is None else low, high)
    if low is None or low < 0:
        intervals += _of_digits("-", 1 if high is None else -high, None if low is None else -low)
    return union(intervals)


def _of_digits(sign: str, low: int, high: int | None) -> Iterator[Interval]:
    low = max(low, 1)
    if high is None:
        # Greater numbers of more digits begin with any digit.
        yield f"{sign}1", f"{sign}:"
        return
    for length in range(len(str(low)), len(str(high)) + 1):
        first, last = max(low, 10 ** (length - 1)), min(high, 10**length - 1)
        if first <= last:
            yield f"{sign}{first}", after(f"{sign}{last}")


def of_dates(operator: Operator, text: str) -> Region:
    """Texts among which all plain spellings of the dates, or timestamps, on one side of this one
    are."""
    match operator:
        case Operator.LT:
            return (("", text),)
        case Operator.LE:
            return (("", prefix_interval(text)[1]),)
        case Operator.GT:
            return ((after(text), None),)
    return ((text, None),)
