"""Column statistics: a row of TAB_COL_STATS or PART_COL_STATS for each column and engine."""

from typing import Any, NamedTuple

from hive.column_statistics import Figures, returned_figures
from hive.thrift.binary import encode
from hive.thrift.statistics import COLUMN_STATISTICS_OBJ


class StatisticsRow(NamedTuple):
    """The leading fields of a row; columns that a release lacks are null."""

    owner: int
    """The id of the table or of the partition."""
    column: str
    type: str
    figures: Figures
    last_analyzed: int | None
    engine: str | None


class StoredStatistics(NamedTuple):
    """The statistics of one column as they are stored."""

    owner: int
    engine: str
    column: str
    last_analyzed: int
    data: bytes
    """A ColumnStatisticsObj, without figures if the metastore wouldn't return them."""


def stored_statistics(row: tuple[Any, ...]) -> StoredStatistics:
    """The statistics of a row: owner, column and type, the fields of `Figures`, then the time of
    the analysis and the engine."""
    owner, column, type_, *figures, last_analyzed, by = row
    own = StatisticsRow(owner, column, type_, Figures(*figures), last_analyzed, by)
    data = encode(
        COLUMN_STATISTICS_OBJ,
        {
            "colName": own.column,
            "colType": own.type,
            "statsData": returned_figures(own.type, own.figures),
        },
    )
    engine = own.engine or "hive"
    return StoredStatistics(own.owner, engine, own.column.lower(), own.last_analyzed or 0, data)
