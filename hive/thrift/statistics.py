"""Column statistics, with the field ids of Hive's IDL."""

from hive.thrift.types import (
    ListOf,
    MapOf,
    Struct,
    Type,
    binary,
    boolean,
    double,
    i16,
    i64,
    string,
)

DECIMAL = Struct("Decimal", (1, "unscaled", binary), (3, "scale", i16))
DATE = Struct("Date", (1, "daysSinceEpoch", i64))
TIMESTAMP = Struct("Timestamp", (1, "secondsSinceEpoch", i64))


def _ranged(name: str, value: Type) -> Struct:
    """The statistics struct of a type whose values have an order."""
    return Struct(
        name,
        (1, "lowValue", value),
        (2, "highValue", value),
        (3, "numNulls", i64),
        (4, "numDVs", i64),
        (5, "bitVectors", binary),
        (6, "histogram", binary),
    )


BOOLEAN_STATS = Struct(
    "BooleanColumnStatsData",
    (1, "numTrues", i64),
    (2, "numFalses", i64),
    (3, "numNulls", i64),
    (4, "bitVectors", binary),
)
LONG_STATS = _ranged("LongColumnStatsData", i64)
DOUBLE_STATS = _ranged("DoubleColumnStatsData", double)
STRING_STATS = Struct(
    "StringColumnStatsData",
    (1, "maxColLen", i64),
    (2, "avgColLen", double),
    (3, "numNulls", i64),
    (4, "numDVs", i64),
    (5, "bitVectors", binary),
)
BINARY_STATS = Struct(
    "BinaryColumnStatsData",
    (1, "maxColLen", i64),
    (2, "avgColLen", double),
    (3, "numNulls", i64),
    (4, "bitVectors", binary),
)
DECIMAL_STATS = _ranged("DecimalColumnStatsData", DECIMAL)
DATE_STATS = _ranged("DateColumnStatsData", DATE)
TIMESTAMP_STATS = _ranged("TimestampColumnStatsData", TIMESTAMP)

COLUMN_STATISTICS_DATA = Struct(
    "ColumnStatisticsData",
    (1, "booleanStats", BOOLEAN_STATS),
    (2, "longStats", LONG_STATS),
    (3, "doubleStats", DOUBLE_STATS),
    (4, "stringStats", STRING_STATS),
    (5, "binaryStats", BINARY_STATS),
    (6, "decimalStats", DECIMAL_STATS),
    (7, "dateStats", DATE_STATS),
    (8, "timestampStats", TIMESTAMP_STATS),
)
COLUMN_STATISTICS_OBJ = Struct(
    "ColumnStatisticsObj",
    (1, "colName", string),
    (2, "colType", string),
    (3, "statsData", COLUMN_STATISTICS_DATA),
)
COLUMN_STATISTICS_DESC = Struct(
    "ColumnStatisticsDesc",
    (1, "isTblLevel", boolean),
    (2, "dbName", string),
    (3, "tableName", string),
    (4, "partName", string),
    (5, "lastAnalyzed", i64),
    (6, "catName", string),
)
COLUMN_STATISTICS = Struct(
    "ColumnStatistics",
    (1, "statsDesc", COLUMN_STATISTICS_DESC),
    (2, "statsObj", ListOf(COLUMN_STATISTICS_OBJ)),
    (3, "isStatsCompliant", boolean),
    (4, "engine", string),
)
AGGR_STATS = Struct(
    "AggrStats",
    (1, "colStats", ListOf(COLUMN_STATISTICS_OBJ)),
    (2, "partsFound", i64),
    (3, "isStatsCompliant", boolean),
)
TABLE_STATS_RESULT = Struct(
    "TableStatsResult",
    (1, "tableStats", ListOf(COLUMN_STATISTICS_OBJ)),
    (2, "isStatsCompliant", boolean),
)
PARTITIONS_STATS_RESULT = Struct(
    "PartitionsStatsResult",
    (1, "partStats", MapOf(string, ListOf(COLUMN_STATISTICS_OBJ))),
    (2, "isStatsCompliant", boolean),
)
