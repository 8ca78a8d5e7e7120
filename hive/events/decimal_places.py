"""Column statistics as a database stores them that rounds their figures.

Hive's scripts for MySQL give columns for floating-point numbers four decimal places. Events have
the figures as they were sent.
"""

import math
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from hive.events.event_types import Event, UpdatePartitionStatistics, UpdateTableStatistics
from hive.thrift.binary import decode, encode
from hive.thrift.statistics import COLUMN_STATISTICS_OBJ

DecimalPlaces = Mapping[tuple[str, str], int]
"""How many decimal places a column of a table of statistics keeps, where it doesn't keep all."""

_OF_TABLES, _OF_PARTITIONS = "TAB_COL_STATS", "PART_COL_STATS"
TABLES: Final = (_OF_TABLES, _OF_PARTITIONS)
"""The tables of statistics."""
FIGURES: Final = {
    "lowValue": "DOUBLE_LOW_VALUE",
    "highValue": "DOUBLE_HIGH_VALUE",
    "avgColLen": "AVG_COL_LEN",
}
"""The columns of the figures that are floating-point numbers."""


def as_stored(event: Event, places: DecimalPlaces) -> Event:
    """The event, with the figures that the database has kept."""
    if not places or not isinstance(event, UpdateTableStatistics | UpdatePartitionStatistics):
        return event
    table = _OF_PARTITIONS if isinstance(event, UpdatePartitionStatistics) else _OF_TABLES
    places_of_figures = {
        figure: places[table, column]
        for figure, column in FIGURES.items()
        if (table, column) in places
    }
    columns = tuple(
        msgspec.structs.replace(column, data=_rounded_figures(column.data, places_of_figures))
        for column in event.columns
    )
    return msgspec.structs.replace(event, columns=columns)


def _rounded_figures(data: bytes, places: Mapping[str, int]) -> bytes:
    column = decode(COLUMN_STATISTICS_OBJ, data)
    rounded_data = {
        kind: {name: _rounded_figure(value, places.get(name)) for name, value in figures.items()}
        for kind, figures in column.get("statsData", {}).items()
    }
    if rounded_data == column.get("statsData", {}):
        return data
    return encode(COLUMN_STATISTICS_OBJ, {**column, "statsData": rounded_data})


def _rounded_figure(value: Any, places: int | None) -> Any:
    if places is None or not isinstance(value, float):
        return value
    return rounded(value, places)


def rounded(value: float, places: int) -> float:
    """A number as MySQL rounds it to a column's decimal places, and as it writes it in answers."""
    if not math.isfinite(value):
        return value
    whole, factor = float(math.floor(value)), 10.0**places
    return float(f"{whole + round((value - whole) * factor) / factor:.{places}f}")
