"""Column statistics: which figures a row holds follows from the column's type."""

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, NamedTuple

from hive.thrift.binary import encode
from hive.thrift.statistics import COLUMN_STATISTICS_OBJ


class StatisticsRow(NamedTuple):
    """TAB_COL_STATS or PART_COL_STATS; what a release lacks is null."""

    owner: int
    """The id of the table or of the partition."""
    column: str
    type: str
    long_low: int | None
    long_high: int | None
    double_low: float | None
    double_high: float | None
    decimal_low: str | None
    decimal_high: str | None
    nulls: int | None
    distinct: int | None
    bit_vector: bytes | None
    histogram: bytes | None
    length_avg: float | None
    length_max: int | None
    trues: int | None
    falses: int | None
    last_analyzed: int | None
    engine: str | None


class StoredStatistics(NamedTuple):
    """The statistics of one column as they are stored."""

    owner: int
    engine: str
    column: str
    last_analyzed: int
    data: bytes
    """A ColumnStatisticsObj."""


def stored_statistics(row: tuple[Any, ...]) -> StoredStatistics | None:
    """The statistics of a row with the fields of `StatisticsRow`; none of a type that has none."""
    own = StatisticsRow(*row)
    found = _figures(own)
    if found is None:
        return None
    kind, figures = found
    data = encode(
        COLUMN_STATISTICS_OBJ,
        {"colName": own.column, "colType": own.type, "statsData": {kind: figures}},
    )
    engine = own.engine or "hive"
    return StoredStatistics(own.owner, engine, own.column.lower(), own.last_analyzed or 0, data)


def _figures(row: StatisticsRow) -> tuple[str, dict[str, Any]] | None:
    type_ = row.type.lower()
    for prefix, kind, make in _BY_PREFIX:
        if type_.startswith(prefix):
            return kind, make(row)
    exact = _BY_TYPE.get(type_)
    return None if exact is None else (exact[0], exact[1](row))


def _ranged(row: StatisticsRow, low: Any, high: Any) -> dict[str, Any]:
    return {
        "lowValue": low,
        "highValue": high,
        "numNulls": row.nulls or 0,
        "numDVs": row.distinct or 0,
        "bitVectors": _bit_vector(row.bit_vector),
        "histogram": bytes(row.histogram) if row.histogram else None,
    }


def _bit_vector(stored: bytes | None) -> bytes | None:
    """The metastore stores a header alone where there is none."""
    return None if stored is None or bytes(stored) == b"HL" else bytes(stored)


def _long(row: StatisticsRow) -> dict[str, Any]:
    return _ranged(row, row.long_low, row.long_high)


def _double(row: StatisticsRow) -> dict[str, Any]:
    return _ranged(row, row.double_low, row.double_high)


def _decimal(row: StatisticsRow) -> dict[str, Any]:
    return _ranged(row, _number(row.decimal_low), _number(row.decimal_high))


def _date(row: StatisticsRow) -> dict[str, Any]:
    return _ranged(
        row,
        None if row.long_low is None else {"daysSinceEpoch": row.long_low},
        None if row.long_high is None else {"daysSinceEpoch": row.long_high},
    )


def _timestamp(row: StatisticsRow) -> dict[str, Any]:
    return _ranged(
        row,
        None if row.long_low is None else {"secondsSinceEpoch": row.long_low},
        None if row.long_high is None else {"secondsSinceEpoch": row.long_high},
    )


def _string(row: StatisticsRow) -> dict[str, Any]:
    return {
        **_binary(row),
        "numDVs": row.distinct or 0,
        "bitVectors": _bit_vector(row.bit_vector),
    }


def _binary(row: StatisticsRow) -> dict[str, Any]:
    return {
        "maxColLen": row.length_max or 0,
        "avgColLen": row.length_avg or 0.0,
        "numNulls": row.nulls or 0,
    }


def _boolean(row: StatisticsRow) -> dict[str, Any]:
    return {
        "numTrues": row.trues or 0,
        "numFalses": row.falses or 0,
        "numNulls": row.nulls or 0,
    }


def _number(text: str | None) -> dict[str, Any] | None:
    """A decimal number as Java has it: all digits as one integer, and the places of the point."""
    if text is None:
        return None
    sign, digits, exponent = Decimal(text).as_tuple()
    assert isinstance(exponent, int)
    unscaled = int("".join(map(str, digits)) or "0") * (-1 if sign else 1)
    size = (unscaled if unscaled >= 0 else ~unscaled).bit_length() // 8 + 1
    return {"unscaled": unscaled.to_bytes(size, signed=True), "scale": -exponent}


Make = Callable[[StatisticsRow], dict[str, Any]]
_BY_TYPE: Mapping[str, tuple[str, Make]] = {
    "boolean": ("booleanStats", _boolean),
    "string": ("stringStats", _string),
    "binary": ("binaryStats", _binary),
    **dict.fromkeys(("bigint", "int", "smallint", "tinyint"), ("longStats", _long)),
    **dict.fromkeys(("double", "float"), ("doubleStats", _double)),
    "date": ("dateStats", _date),
    "timestamp": ("timestampStats", _timestamp),
}
_BY_PREFIX: tuple[tuple[str, str, Make], ...] = (
    ("varchar", "stringStats", _string),
    ("char", "stringStats", _string),
    ("decimal", "decimalStats", _decimal),
)
