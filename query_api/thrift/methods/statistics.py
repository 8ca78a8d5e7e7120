"""Calls that give column statistics.

Bit vectors and histograms are left out, as the metastore does by default.
"""

from collections.abc import Collection, Iterable, Sequence
from struct import Struct as Packing
from typing import Any, ClassVar, Final

from hive.aggregate import aggregate
from hive.errors import InputError
from hive.names import TableName, partition_name, partition_values, stored_partition_name
from hive.thrift.binary import decode, encode, extended
from hive.thrift.statistics import (
    AGGR_STATS,
    COLUMN_STATISTICS,
    COLUMN_STATISTICS_DESC,
    COLUMN_STATISTICS_OBJ,
)
from hive.thrift.structs import PARTITION, TABLE
from hive.thrift.types import LIST, STRING
from hive.thrift.view import PartitionView, TableView
from hive.write_ids.lists import WriteIdList
from query_api.objects import ColumnFigures, Objects, Values
from query_api.reads.read import SHORT_MAX
from query_api.reads.statistics import DEFAULT_ENGINE
from query_api.remembered import remembered
from query_api.targets import TargetKind
from query_api.thrift.call import RelayReason
from query_api.thrift.methods import names
from query_api.thrift.methods.outcome import Nothing, Outcome, Raised, structs
from query_api.thrift.methods.request import (
    Arguments,
    CacheRequest,
    Understood,
    at_snapshot,
    refuse_unknown,
    snapshot,
)
from query_api.thrift.methods.statistics_compliance import complies
from query_api.thrift.methods.table_method import TableMethod
from query_api.thrift.methods.table_traits import table_traits

_LENGTH: Final = Packing("!i").pack
_MAP_OF_LISTS: Final = Packing("!bbi").pack
_SKETCHES: Final = frozenset(("bitVectors", "histogram"))
_MADE_OTHERWISE: Final = _SKETCHES | {"numDVs"}
"""The figures of several partitions that a metastore leaves out, or makes without sketches."""
_WHOLE: Final = frozenset(("longStats", "dateStats", "timestampStats"))
_LONG_MIN, _LONG_MAX = -(1 << 63), (1 << 63) - 1


class _Statistics(TableMethod, frozen=True, kw_only=True):
    needs: ClassVar[tuple[TargetKind, ...]] = (TargetKind.STATISTICS,)
    columns: tuple[str, ...]
    engine: str = DEFAULT_ENGINE
    snapshot: WriteIdList | None = None

    def _chosen(self, figures: Iterable[ColumnFigures]) -> list[ColumnFigures]:
        return chosen(figures, self.columns, self.engine)


class TableStatistics(_Statistics, frozen=True, kw_only=True):
    """The statistics of a table's columns."""

    with_description: bool = False

    def of(self, table: bytes, objects: Objects) -> Outcome:
        if not self._complies(table):
            return structs([])
        figures = self._chosen(objects.table_statistics(self.table))
        if self.with_description:
            return described(self.table, None, figures) if figures else Nothing()
        return structs([without_sketches(column.data) for column in figures])

    def _complies(self, table: bytes) -> bool:
        if self.snapshot is None or not table_traits(table).transactional:
            return True
        view = TableView(table)
        return complies(decode(TABLE, table)["parameters"], view.write_id, self.snapshot)


class _OfPartitions(_Statistics, frozen=True, kw_only=True):
    names: tuple[str, ...]

    @property
    def is_long(self) -> bool:
        return len(self.names) > SHORT_MAX

    def _complies(self, objects: Objects, values: Values) -> bool:
        if self.snapshot is None:
            return True
        data = objects.partition(self.table, values)
        return data is not None and _complies(data, self.snapshot)


class PartitionStatistics(_OfPartitions, frozen=True, kw_only=True):
    """The column statistics of partitions by their names; partitions without any are left out."""

    with_description: bool = False

    def of(self, table: bytes, objects: Objects) -> Outcome:
        of_partitions = self._by_partition(objects, table_traits(table).keys)
        if self.with_description:
            return described(self.table, *of_partitions[0]) if of_partitions else Nothing()
        parts = [_MAP_OF_LISTS(STRING, LIST, len(of_partitions))]
        for name, columns in of_partitions:
            parts += (_text(name), structs([without_sketches(column.data) for column in columns]))
        return b"".join(parts)

    def _by_partition(
        self, objects: Objects, keys: Sequence[str]
    ) -> list[tuple[str, list[ColumnFigures]]]:
        by_values = {values: name for name in self.names if (values := _values(name, keys))}
        of_partitions = []
        for values, figures in objects.partition_statistics(self.table, list(by_values)):
            columns = self._chosen(figures)
            if columns and self._complies(objects, values):
                of_partitions.append((by_values[values], columns))
        return of_partitions


class Aggregate(_OfPartitions, frozen=True, kw_only=True):
    """Column statistics aggregated over several partitions, if each of them has all columns."""

    on_mysql: bool = False
    """Whether the metastore's database is MySQL, which casts decimals to whole numbers."""

    def of(self, table: bytes, objects: Objects) -> Outcome:
        if not self.names or not self.columns:
            return RelayReason.FORM if self.snapshot is not None else _aggregated([], 0)
        keys = table_traits(table).keys
        wanted = [values for name in self.names if (values := _values(name, keys))]
        figures: dict[str, list[dict[str, Any]]] = {column: [] for column in self.columns}
        for values, all_columns in objects.partition_statistics(self.table, wanted):
            columns = self._chosen(all_columns)
            if len(columns) != len(figures) or not self._complies(objects, values):
                return RelayReason.FORM
            for column in columns:
                part = decode(COLUMN_STATISTICS_OBJ, column.data)
                if self.on_mysql and "decimalStats" in part.get("statsData", {}):
                    return RelayReason.STATISTICS
                figures[column.column].append(part)
        merged = [_merged(parts, len(self.names)) for _, parts in sorted(figures.items())]
        if not all(merged):
            return RelayReason.FORM
        return _aggregated(merged, len(self.names))


def get_table_statistics_req(arguments: Arguments) -> Understood:
    request = arguments["request"]
    refuse_unknown(request)
    table = names.table_in_catalog(request)
    ids = snapshot(request.get("validWriteIdList"), table)
    read = TableStatistics(
        table,
        missing=_missing(table) if ids is None else RelayReason.FORM,
        columns=_columns(request),
        engine=request.get("engine", DEFAULT_ENGINE),
        snapshot=ids,
    )
    return at_snapshot(read, ids, request.get("id"))


def get_partitions_statistics_req(arguments: Arguments) -> Understood:
    request = arguments["request"]
    refuse_unknown(request)
    table = names.table_in_catalog(request)
    columns, partitions = _columns(request), _stored_names(request["partNames"])
    read = PartitionStatistics(
        table,
        # Without columns or partitions, the metastore doesn't look for the table.
        missing=_missing(table) if columns and partitions else _MAP_OF_LISTS(STRING, LIST, 0),
        columns=columns,
        engine=request.get("engine", DEFAULT_ENGINE),
        snapshot=snapshot(request.get("validWriteIdList"), table),
        names=partitions,
    )
    return CacheRequest(read)


def get_aggr_stats_for(arguments: Arguments) -> Understood:
    request = arguments["request"]
    refuse_unknown(request)
    table = names.table_in_catalog(request)
    columns, partitions = _columns(request), _stored_names(request["partNames"])
    if len(set(partitions)) != len(partitions):
        raise InputError("a partition that is named twice")
    if len(columns) != len(request["colNames"]):
        # The metastore finds fewer columns of each partition than it counts, and extrapolates.
        raise InputError("a column that is named twice")
    read = Aggregate(
        table,
        missing=RelayReason.FORM,
        columns=columns,
        engine=request.get("engine", DEFAULT_ENGINE),
        snapshot=snapshot(request.get("validWriteIdList"), table),
        names=partitions,
    )
    return CacheRequest(read)


def get_table_column_statistics(arguments: Arguments) -> Understood:
    refuse_unknown(arguments)
    table = names.table(arguments)
    return CacheRequest(
        TableStatistics(
            table,
            missing=_missing(table),
            columns=(arguments.get("col_name", "").lower(),),
            with_description=True,
        )
    )


def get_partition_column_statistics(arguments: Arguments) -> Understood:
    refuse_unknown(arguments)
    table = names.table(arguments)
    return CacheRequest(
        PartitionStatistics(
            table,
            missing=_missing(table),
            columns=(arguments.get("col_name", "").lower(),),
            names=_stored_names([arguments.get("part_name", "")]),
            with_description=True,
        )
    )


def _missing(table: TableName) -> Raised:
    place = f"{table.catalog}.{table.db}.{table.table}"
    return Raised(
        "NoSuchObjectException", f"Specified catalog.database.table does not exist : {place}"
    )


@remembered(2048)
def without_sketches(data: bytes) -> bytes:
    """The statistics of a column without the sketches, which only serve to merge statistics."""
    column = decode(COLUMN_STATISTICS_OBJ, data)
    if not column.get("statsData"):
        raise InputError(f"statistics of {column['colName']}, which no metastore tells")
    ((kind, figures),) = column["statsData"].items()
    if _SKETCHES.isdisjoint(figures):
        return data
    plain_figures = {name: value for name, value in figures.items() if name not in _SKETCHES}
    return encode(COLUMN_STATISTICS_OBJ, {**column, "statsData": {kind: plain_figures}})


def _merged(parts: list[dict[str, Any]], partitions: int) -> dict[str, Any] | None:
    """Merges statistics as the metastore does without bit vectors. The number of distinct values is
    the greatest of all; for whole numbers, dates and times, it is limited by the range.
    """
    merged, missing = aggregate(parts, partitions)
    if merged is None or not _MADE_OTHERWISE.issuperset(missing):
        return None
    ((kind, figures),) = merged["statsData"].items()
    distinct = [part["statsData"][kind].get("numDVs") for part in parts]
    if any(number is not None for number in distinct):
        most = max(number for number in distinct if number is not None)
        figures["numDVs"] = most if kind not in _WHOLE else min(most, _range(figures))
    return merged


def _range(figures: dict[str, Any]) -> int:
    """The number of values from the lowest to the highest, in Java's 64-bit arithmetic."""
    bounds = [figures.get(name) for name in ("lowValue", "highValue")]
    low, high = (
        next(iter(bound.values())) if isinstance(bound, dict) else bound for bound in bounds
    )
    if low is None or high is None:
        return _LONG_MAX
    return int((high - low + 1 - _LONG_MIN) % (1 << 64) + _LONG_MIN)


def _aggregated(columns: Sequence[dict[str, Any] | None], partitions: int) -> bytes:
    return encode(AGGR_STATS, {"colStats": list(columns), "partsFound": partitions})


def described(
    table: TableName,
    partition: str | None,
    figures: Sequence[ColumnFigures],
    *,
    compliant: bool | None = None,
) -> bytes:
    """The statistics of some columns, with the table or partition that they describe."""
    description = {
        "isTblLevel": partition is None,
        "dbName": table.db,
        "tableName": table.table,
        "partName": partition,
        "lastAnalyzed": min(column.last_analyzed for column in figures),
        "catName": table.catalog,
    }
    data = encode(
        COLUMN_STATISTICS,
        {
            "statsDesc": encode(COLUMN_STATISTICS_DESC, description),
            "statsObj": [without_sketches(column.data) for column in figures],
            "engine": figures[0].engine,
        },
    )
    if compliant is None:
        return data
    return extended(COLUMN_STATISTICS, data, isStatsCompliant=compliant)


def chosen(
    figures: Iterable[ColumnFigures], columns: Collection[str], engine: str
) -> list[ColumnFigures]:
    """The statistics of some columns and one engine, in the order of the columns."""
    return sorted(
        column for column in figures if column.engine == engine and column.column in columns
    )


def _columns(request: Arguments) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name.lower() for name in request["colNames"]))


def _stored_names(partitions: Sequence[str]) -> tuple[str, ...]:
    """The names of partitions. Calls with names in another form than the stored one go to the
    metastore: Hive 4.0 reads their keys in lower case, later releases find nothing.
    """
    for name in partitions:
        if stored_partition_name(name) != name:
            raise InputError(f"{name[:80]!r} is not a partition's name in its stored form")
    return tuple(partitions)


def _values(name: str, keys: Sequence[str]) -> Values | None:
    """The values of a partition with this name, which is in its stored form, if it can be one."""
    values = partition_values(name)
    fits = len(values) == len(keys) and partition_name(keys, values) == name
    return values if fits else None


def _complies(partition: bytes, ids: WriteIdList) -> bool:
    parameters = decode(PARTITION, partition)["parameters"]
    return complies(parameters, PartitionView(partition).write_id, ids)


def _text(text: str) -> bytes:
    data = text.encode()
    return _LENGTH(len(data)) + data
