"""Merges column statistics of several partitions, as far as that needs none of Hive's sketches.

The metastore takes the least low value, the greatest high value, the greatest maximal and average
lengths, and the sums of nulls, trues and falses. It counts distinct values by bit vectors and makes
histograms from KLL sketches. Only Hive can merge these, so their fields are named as missing; so is
a field that is NaN in any partition, because databases order NaN in different ways.
"""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, Final, NamedTuple

Statistics = Mapping[str, Any]
"""The fields of one kind of statistics, by their names in the IDL."""


class Aggregate(NamedTuple):
    """The statistics of one column over all partitions, as far as they are certain."""

    statistics: dict[str, Any] | None
    """A ColumnStatisticsObj; None when nothing is certain."""
    missing: tuple[str, ...]
    """Fields that the metastore would return but that can't be computed here."""


_SKETCHES: Final = ("numDVs", "bitVectors", "histogram")
_FIELDS: Final[dict[str, Callable[[list[Any]], Any]]] = {
    "numNulls": sum,
    "numTrues": sum,
    "numFalses": sum,
    "maxColLen": max,
    "avgColLen": max,
    "lowValue": lambda values: min(values, key=_comparable),
    "highValue": lambda values: max(values, key=_comparable),
}


def aggregate(columns: Sequence[Mapping[str, Any]], partitions: int) -> Aggregate:
    """Merges one column's statistics (ColumnStatisticsObj) from `partitions` partitions.

    The result is empty if a partition has no statistics, because the metastore then extrapolates
    from the others, and if the column's type differs between partitions.
    """
    everything = Aggregate(None, ("statsData",))
    complete = all(column.get("statsData") for column in columns)
    if not columns or len(columns) != partitions or not complete:
        return everything
    kinds = {kind for column in columns for kind in column["statsData"]}
    names = {(column["colName"], column["colType"]) for column in columns}
    if len(kinds) != 1 or len(names) != 1:
        return everything
    (kind,) = kinds
    parts: list[Statistics] = [column["statsData"][kind] for column in columns]
    values_of = {
        field: values
        for field in (*_FIELDS, *_SKETCHES)
        if (values := [part[field] for part in parts if field in part])
    }
    missing = tuple(
        field for field, values in values_of.items() if field in _SKETCHES or _have_nan(values)
    )
    merged = {
        field: _FIELDS[field](values) for field, values in values_of.items() if field not in missing
    }
    first = columns[0]
    statistics = {
        "colName": first["colName"],
        "colType": first["colType"],
        "statsData": {kind: merged},
    }
    return Aggregate(statistics, missing)


def _have_nan(values: Sequence[Any]) -> bool:
    return any(value != value for value in values)


def _comparable(value: Any) -> Any:
    """A low or high value in a form that has an order."""
    match value:
        case {"unscaled": bytes(unscaled), "scale": int(scale)}:
            return _decimal(unscaled, scale)
        case {"daysSinceEpoch": days}:
            return days
        case {"secondsSinceEpoch": seconds}:
            return seconds
    return value


def _decimal(unscaled: bytes, scale: int) -> Fraction:
    """Decodes Java's BigDecimal: a big-endian two's complement number and its scale."""
    return Fraction(int.from_bytes(unscaled, signed=True)) / Fraction(10) ** scale
