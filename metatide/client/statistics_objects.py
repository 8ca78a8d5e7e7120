"""Statistics of columns, with the field names of Hive's Thrift."""

from metatide.client.hive_struct import HiveStruct


class Date(HiveStruct, frozen=True):
    """A day, by its number since 1970-01-01."""

    daysSinceEpoch: int | None = None


class Decimal(HiveStruct, frozen=True):
    """`unscaled`, a big-endian integer, over ten to the power of `scale`."""

    unscaled: bytes | None = None
    scale: int | None = None


class Timestamp(HiveStruct, frozen=True):
    """A moment, in seconds since 1970."""

    secondsSinceEpoch: int | None = None


class BooleanColumnStatsData(HiveStruct, frozen=True):
    """Statistics of booleans."""

    numTrues: int | None = None
    numFalses: int | None = None
    numNulls: int | None = None
    bitVectors: bytes | None = None


class LongColumnStatsData(HiveStruct, frozen=True):
    """Statistics of integers."""

    lowValue: int | None = None
    highValue: int | None = None
    numNulls: int | None = None
    numDVs: int | None = None
    bitVectors: bytes | None = None
    histogram: bytes | None = None


class DoubleColumnStatsData(HiveStruct, frozen=True):
    """Statistics of floating-point numbers."""

    lowValue: float | None = None
    highValue: float | None = None
    numNulls: int | None = None
    numDVs: int | None = None
    bitVectors: bytes | None = None
    histogram: bytes | None = None


class StringColumnStatsData(HiveStruct, frozen=True):
    """Statistics of texts."""

    maxColLen: int | None = None
    avgColLen: float | None = None
    numNulls: int | None = None
    numDVs: int | None = None
    bitVectors: bytes | None = None


class BinaryColumnStatsData(HiveStruct, frozen=True):
    """Statistics of bytes."""

    maxColLen: int | None = None
    avgColLen: float | None = None
    numNulls: int | None = None
    bitVectors: bytes | None = None


class DecimalColumnStatsData(HiveStruct, frozen=True):
    """Statistics of decimals."""

    lowValue: Decimal | None = None
    highValue: Decimal | None = None
    numNulls: int | None = None
    numDVs: int | None = None
    bitVectors: bytes | None = None
    histogram: bytes | None = None


class DateColumnStatsData(HiveStruct, frozen=True):
    """Statistics of dates."""

    lowValue: Date | None = None
    highValue: Date | None = None
    numNulls: int | None = None
    numDVs: int | None = None
    bitVectors: bytes | None = None
    histogram: bytes | None = None


class TimestampColumnStatsData(HiveStruct, frozen=True):
    """Statistics of timestamps."""

    lowValue: Timestamp | None = None
    highValue: Timestamp | None = None
    numNulls: int | None = None
    numDVs: int | None = None
    bitVectors: bytes | None = None
    histogram: bytes | None = None


class ColumnStatisticsData(HiveStruct, frozen=True):
    """One kind of statistics, that of the type of the column; the others are None."""

    booleanStats: BooleanColumnStatsData | None = None
    longStats: LongColumnStatsData | None = None
    doubleStats: DoubleColumnStatsData | None = None
    stringStats: StringColumnStatsData | None = None
    binaryStats: BinaryColumnStatsData | None = None
    decimalStats: DecimalColumnStatsData | None = None
    dateStats: DateColumnStatsData | None = None
    timestampStats: TimestampColumnStatsData | None = None


class ColumnStatisticsObj(HiveStruct, frozen=True):
    """The statistics of a column."""

    colName: str = ""
    colType: str | None = None
    statsData: ColumnStatisticsData | None = None


class ColumnStatisticsDesc(HiveStruct, frozen=True):
    """What statistics are about."""

    isTblLevel: bool | None = None
    dbName: str | None = None
    tableName: str | None = None
    partName: str | None = None
    lastAnalyzed: int | None = None
    catName: str | None = None


class ColumnStatistics(HiveStruct, frozen=True):
    """Statistics of several columns."""

    statsDesc: ColumnStatisticsDesc | None = None
    statsObj: list[ColumnStatisticsObj] | None = None
    isStatsCompliant: bool | None = None
    engine: str | None = None
