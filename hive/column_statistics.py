"""The figures of a column that the metastore returns, computed from those that it stores.

A row of TAB_COL_STATS or PART_COL_STATS has a field for each figure of every kind. A client may
send figures of a kind that isn't the column type's: the metastore stores them in their fields, and
returns the fields of the type's kind alone. So one rule serves both rows and events.

If a figure that the kind requires is missing, the metastore answers with a MetaException; if the
type has no statistics at all, it closes the connection. We return no figures in either case.
"""

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, NamedTuple


class Figures(NamedTuple):
    """The figures in a row; which of them a column uses depends on its type."""

    long_low: int | None = None
    long_high: int | None = None
    double_low: float | None = None
    double_high: float | None = None
    decimal_low: str | Decimal | None = None
    decimal_high: str | Decimal | None = None
    nulls: int | None = None
    distinct: int | None = None
    bit_vector: bytes | None = None
    histogram: bytes | None = None
    length_avg: float | None = None
    length_max: int | None = None
    trues: int | None = None
    falses: int | None = None


def stored_figures(data: Mapping[str, Mapping[str, Any]]) -> Figures:
    """The figures that the metastore stores of a client's ColumnStatisticsData."""
    ((kind, values),) = data.items()
    get = values.get
    match kind:
        case "booleanStats":
            return Figures(nulls=get("numNulls"), trues=get("numTrues"), falses=get("numFalses"))
        case "binaryStats":
            lengths = {"length_avg": get("avgColLen"), "length_max": get("maxColLen")}
            return Figures(nulls=get("numNulls"), **lengths)
    figures = Figures(
        nulls=get("numNulls"),
        distinct=get("numDVs"),
        bit_vector=get("bitVectors"),
        histogram=get("histogram"),
    )
    low, high = get("lowValue"), get("highValue")
    match kind:
        case "stringStats":
            return figures._replace(length_avg=get("avgColLen"), length_max=get("maxColLen"))
        case "doubleStats":
            return figures._replace(double_low=low, double_high=high)
        case "decimalStats":
            return figures._replace(decimal_low=_decimal(low), decimal_high=_decimal(high))
    return figures._replace(long_low=_whole(low), long_high=_whole(high))


def returned_figures(type_: str, figures: Figures) -> dict[str, dict[str, Any]] | None:
    """The ColumnStatisticsData that the metastore returns for a column of this type; None if it
    returns none."""
    type_figures = _kind(type_)
    if type_figures is None:
        return None
    kind, tell = type_figures
    returned = tell(figures)
    if any(value is None for name, value in returned.items() if name not in OPTIONAL_FIGURES):
        return None
    return {kind: {name: value for name, value in returned.items() if value is not None}}


def figures_kind(type_: str) -> str | None:
    """The kind of figures that a column of this type has; None if it can't have any."""
    kind = _kind(type_)
    return None if kind is None else kind[0]


OPTIONAL_FIGURES = frozenset(("lowValue", "highValue", "bitVectors", "histogram"))
Tell = Callable[[Figures], dict[str, Any]]


def _kind(type_: str) -> tuple[str, Tell] | None:
    folded = type_.lower()
    for prefix, kind, tell in _BY_PREFIX:
        if folded.startswith(prefix):
            return kind, tell
    return _BY_TYPE.get(folded)


def _ranged(figures: Figures, low: Any, high: Any) -> dict[str, Any]:
    return {
        "lowValue": low,
        "highValue": high,
        "numNulls": figures.nulls,
        "numDVs": figures.distinct,
        "bitVectors": _bit_vector(figures.bit_vector),
        "histogram": bytes(figures.histogram) if figures.histogram else None,
    }


def _bit_vector(stored: bytes | None) -> bytes | None:
    """The bit vector; None for a bare header, which the metastore stores when there is none."""
    return None if stored is None or bytes(stored) == b"HL" else bytes(stored)


def _long(figures: Figures) -> dict[str, Any]:
    return _ranged(figures, figures.long_low, figures.long_high)


def _double(figures: Figures) -> dict[str, Any]:
    return _ranged(figures, figures.double_low, figures.double_high)


def _decimals(figures: Figures) -> dict[str, Any]:
    return _ranged(figures, _number(figures.decimal_low), _number(figures.decimal_high))


def _in_unit(unit: str) -> Tell:
    def tell(figures: Figures) -> dict[str, Any]:
        low, high = figures.long_low, figures.long_high
        return _ranged(
            figures,
            None if low is None else {unit: low},
            None if high is None else {unit: high},
        )

    return tell


def _string(figures: Figures) -> dict[str, Any]:
    return {
        **_binary(figures),
        "numDVs": figures.distinct,
        "bitVectors": _bit_vector(figures.bit_vector),
    }


def _binary(figures: Figures) -> dict[str, Any]:
    return {
        "maxColLen": figures.length_max,
        "avgColLen": figures.length_avg,
        "numNulls": figures.nulls,
    }


def _boolean(figures: Figures) -> dict[str, Any]:
    return {
        "numTrues": figures.trues,
        "numFalses": figures.falses,
        "numNulls": figures.nulls,
    }


def _number(stored: str | Decimal | None) -> dict[str, Any] | None:
    """A decimal as Java has it: the unscaled integer and the scale."""
    if stored is None:
        return None
    sign, digits, exponent = Decimal(stored).as_tuple()
    assert isinstance(exponent, int)
    unscaled = int("".join(map(str, digits)) or "0") * (-1 if sign else 1)
    size = (unscaled if unscaled >= 0 else ~unscaled).bit_length() // 8 + 1
    return {"unscaled": unscaled.to_bytes(size, signed=True), "scale": -exponent}


def _decimal(sent: Mapping[str, Any] | None) -> Decimal | None:
    if sent is None:
        return None
    unscaled = int.from_bytes(sent["unscaled"], signed=True)
    digits = tuple(map(int, str(abs(unscaled))))
    return Decimal((int(unscaled < 0), digits, -sent["scale"]))


def _whole(sent: int | Mapping[str, int] | None) -> int | None:
    """A number, a date or a time as an integer."""
    if sent is None or isinstance(sent, int):
        return sent
    (number,) = sent.values()
    return number


_BY_TYPE: Mapping[str, tuple[str, Tell]] = {
    "boolean": ("booleanStats", _boolean),
    "string": ("stringStats", _string),
    "binary": ("binaryStats", _binary),
    **dict.fromkeys(("bigint", "int", "smallint", "tinyint"), ("longStats", _long)),
    **dict.fromkeys(("double", "float"), ("doubleStats", _double)),
    "date": ("dateStats", _in_unit("daysSinceEpoch")),
    "timestamp": ("timestampStats", _in_unit("secondsSinceEpoch")),
}
_BY_PREFIX: tuple[tuple[str, str, Tell], ...] = (
    ("varchar", "stringStats", _string),
    ("char", "stringStats", _string),
    ("decimal", "decimalStats", _decimals),
)
