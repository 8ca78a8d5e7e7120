"""Writes column statistics."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tests.differential.writers.base import Base
from tests.support.hive import idl

Figure = tuple[str, str, str, int]
"""A column, its type, the kind of its statistics, and a number to make them from."""


def _bounds(t: Any, kind: str, number: int) -> dict[str, Any]:
    match kind:
        case "long":
            return {"lowValue": -number, "highValue": number}
        case "double":
            return {"lowValue": -number / 2, "highValue": number / 2}
        case "date":
            low, high = (t.Date(daysSinceEpoch=days) for days in (number, number + 9))
            return {"lowValue": low, "highValue": high}
        case "timestamp":
            low, high = (t.Timestamp(secondsSinceEpoch=at) for at in (number, number + 9))
            return {"lowValue": low, "highValue": high}
        case "decimal":
            low, high = (t.Decimal(scale=2, unscaled=bytes([at])) for at in (number, number + 1))
            return {"lowValue": low, "highValue": high}
    return {}


def _with_bounds(kind: str) -> Callable[[Any, int], Any]:
    def made(t: Any, number: int) -> Any:
        struct = getattr(t, f"{kind.capitalize()}ColumnStatsData")
        bounds = _bounds(t, kind, number) if number % 4 else {}
        return struct(numNulls=number, numDVs=number + 1, **bounds)

    return made


_MADE: Mapping[str, Callable[[Any, int], Any]] = {
    **{kind: _with_bounds(kind) for kind in ("long", "double", "date", "timestamp", "decimal")},
    "string": lambda t, number: t.StringColumnStatsData(
        maxColLen=number, avgColLen=number / 2, numNulls=number, numDVs=number + 1
    ),
    "boolean": lambda t, number: t.BooleanColumnStatsData(
        numTrues=number, numFalses=number + 1, numNulls=number
    ),
    "binary": lambda t, number: t.BinaryColumnStatsData(
        maxColLen=number, avgColLen=number / 2, numNulls=number
    ),
}
KINDS: Mapping[str, Sequence[str]] = {
    "bigint": ("long",),
    "tinyint": ("long",),
    "string": ("string",),
    "char(3)": ("string",),
    # Trino, Impala and older releases of Hive write the second kind.
    "timestamp": ("timestamp", "long"),
    "date": ("date", "long"),
    "decimal(10,2)": ("decimal",),
    "boolean": ("boolean",),
    "binary": ("binary",),
    "double": ("double",),
}


def figures(of: Sequence[Figure]) -> list[Any]:
    t = idl.load()
    return [
        t.ColumnStatisticsObj(
            colName=column,
            colType=type_,
            statsData=t.ColumnStatisticsData(**{f"{kind}Stats": _MADE[kind](t, number)}),
        )
        for column, type_, kind, number in of
    ]


def statistics(
    t: Any, place: tuple[str, str], partition: str | None, of: Sequence[Figure], engine: str
) -> Any:
    """Those of a partition, or of the table at this place."""
    described = t.ColumnStatisticsDesc(
        isTblLevel=partition is None,
        dbName=place[0],
        tableName=place[1],
        partName=partition,
        catName="hive",
    )
    return t.ColumnStatistics(statsDesc=described, statsObj=figures(of), engine=engine)


class Statistics(Base):
    """Actions on statistics; each has the name of the interface's method."""

    def update_table_column_statistics(
        self, db: str, table: str, of: Sequence[Figure], engine: str
    ) -> None:
        self.rpc.update_table_column_statistics(self._statistics(db, table, None, of, engine))

    def update_partition_column_statistics(
        self, db: str, table: str, partition: str, of: Sequence[Figure], engine: str
    ) -> None:
        self.rpc.update_partition_column_statistics(
            self._statistics(db, table, partition, of, engine)
        )

    def update_table_column_statistics_req(
        self, db: str, table: str, of: Sequence[Figure], engine: str, merge: bool
    ) -> None:
        request = self._request(db, table, [None], of, engine, merge)
        self.rpc.update_table_column_statistics_req(request)

    def update_partition_column_statistics_req(
        self, db: str, table: str, partition: str, of: Sequence[Figure], engine: str, merge: bool
    ) -> None:
        request = self._request(db, table, [partition], of, engine, merge)
        self.rpc.update_partition_column_statistics_req(request)

    def set_aggr_stats_for(
        self,
        db: str,
        table: str,
        partitions: Sequence[str | None],
        of: Sequence[Figure],
        engine: str,
        merge: bool,
    ) -> None:
        self.rpc.set_aggr_stats_for(self._request(db, table, partitions, of, engine, merge))

    def delete_table_column_statistics(
        self, db: str, table: str, column: str | None, engine: str
    ) -> None:
        self.rpc.delete_table_column_statistics(*self.place(db, table), column, engine)

    def delete_partition_column_statistics(
        self, db: str, table: str, partition: str, column: str | None, engine: str
    ) -> None:
        place = self.place(db, table)
        self.rpc.delete_partition_column_statistics(*place, partition, column, engine)

    def _statistics(
        self, db: str, table: str, partition: str | None, of: Sequence[Figure], engine: str
    ) -> Any:
        return statistics(self.t, self.place(db, table), partition, of, engine)

    def _request(
        self,
        db: str,
        table: str,
        partitions: Sequence[str | None],
        of: Sequence[Figure],
        engine: str,
        merge: bool,
    ) -> Any:
        return self.t.SetPartitionsStatsRequest(
            colStats=[self._statistics(db, table, one, of, engine) for one in partitions],
            needMerge=merge,
            engine=engine,
        )
