"""The objects of a target in the cache and in the database, paired by name."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

import msgspec

from hive.names import TableName, partition_name
from hive.thrift.binary import decode, replaced
from hive.thrift.statistics import COLUMN_STATISTICS_OBJ
from hive.thrift.structs import DATABASE, FUNCTION, PARTITION, TABLE
from hive.thrift.types import Struct
from hive.thrift.view import PartitionView, TableView
from query_api.objects import ColumnFigures, Objects, Values
from query_api.targets import Target, TargetKind
from state.records.objects import CONSTRAINTS, ConstraintKind
from state.shard_reader import NameLine

PARTITIONS_AT_ONCE: Final = 500

_DETAILS: Final = dict.fromkeys(("description", "locationUri", "managedLocationUri"))
"""The fields of a database that ALTER changes without an event."""

Parts = tuple[bytes, ...]
Read = Callable[[Parts], Mapping[str, Any]]


class Pair(NamedTuple):
    """One object in the cache and in the database; None where it doesn't exist."""

    label: str
    cache: Parts | None
    database: Parts | None
    read: Read
    """Decodes the parts of either side."""
    silent: bool | None = None
    """Whether the log doesn't record the difference; None if that holds for the whole target."""


def pairs(cache: Objects, database: Objects, target: Target) -> Iterator[Pair]:
    """Pairs the objects of a target, page by page where there may be many."""
    return _PAIRS[target.kind](cache, database, target)


def _tables(cache: Objects, database: Objects, target: Target) -> Iterator[Pair]:
    sides = (side.table(target.name) for side in (cache, database))
    ours, theirs = (None if data is None else (data,) for data in sides)
    yield Pair("table", ours, theirs, _of(TABLE))


def _partitions(cache: Objects, database: Objects, target: Target) -> Iterator[Pair]:
    table = target.name
    keys = _partition_keys(cache, database, table)
    for page in _pages(cache, database, table):
        ours, theirs = (
            {PartitionView(data).values: (data,) for data in side.partitions(table, page)}
            for side in (cache, database)
        )
        for values in dict.fromkeys((*page, *ours, *theirs)):
            label = f"partition {_named(keys, values)}"
            yield Pair(label, ours.get(values), theirs.get(values), _of(PARTITION))


def _statistics(cache: Objects, database: Objects, target: Target) -> Iterator[Pair]:
    table = target.name
    yield from _columns(
        "statistics of",
        {(): list(cache.table_statistics(table))},
        {(): list(database.table_statistics(table))},
        (),
    )
    keys = _partition_keys(cache, database, table)
    for page in _pages(cache, database, table):
        ours = dict(cache.partition_statistics(table, page))
        theirs = dict(database.partition_statistics(table, page))
        yield from _columns("statistics of", ours, theirs, keys)


def _columns(
    label: str,
    ours: Mapping[Values, list[ColumnFigures]],
    theirs: Mapping[Values, list[ColumnFigures]],
    keys: Values,
) -> Iterator[Pair]:
    for values in dict.fromkeys((*ours, *theirs)):
        of = f" of partition {_named(keys, values)}" if values else ""
        in_cache, in_database = (_by_column(side.get(values, ())) for side in (ours, theirs))
        for engine, column in dict.fromkeys((*in_cache, *in_database)):
            name = f"{label} column {column} by {engine}{of}"
            yield Pair(
                name,
                in_cache.get((engine, column)),
                in_database.get((engine, column)),
                _read_figures,
            )


def _constraints(cache: Objects, database: Objects, target: Target) -> Iterator[Pair]:
    ours, theirs = (
        {
            (constraint.kind, constraint.name): constraint.columns
            for constraint in side.constraints(target.name)
            if constraint.columns
        }
        for side in (cache, database)
    )
    for key in dict.fromkeys((*ours, *theirs)):
        kind, struct = CONSTRAINTS[key[0]]
        # Without an event, constraints only disappear. A foreign key also shows columns of its
        # parent.
        silent = (key in ours and key not in theirs) or key[0] is ConstraintKind.FOREIGN_KEY
        label = f"{kind} {key[1]}"
        yield Pair(label, ours.get(key), theirs.get(key), _of_list(struct), silent)


def _names(cache: Objects, database: Objects, target: Target) -> Iterator[Pair]:
    ours, theirs = (
        {line.table: line for line in side.names(target.db)} for side in (cache, database)
    )
    for name in dict.fromkeys((*ours, *theirs)):
        parts = _line_parts(ours.get(name)), _line_parts(theirs.get(name))
        yield Pair(f"name {name}", *parts, _read_line)


def _line_parts(line: NameLine | None) -> Parts | None:
    if line is None:
        return None
    return (msgspec.json.encode((line.type, line.comment, line.owner, line.owner_type)),)


def _functions(cache: Objects, database: Objects, target: Target) -> Iterator[Pair]:
    yield from _by_name(
        "function", cache.functions(target.db), database.functions(target.db), FUNCTION
    )


def _databases(cache: Objects, database: Objects, target: Target) -> Iterator[Pair]:
    catalog = target.name.catalog
    for pair in _by_name(
        "database", cache.databases(catalog), database.databases(catalog), DATABASE
    ):
        ours, theirs = (
            parts and replaced(DATABASE, parts[0], **_DETAILS)
            for parts in (pair.cache, pair.database)
        )
        yield pair._replace(silent=True) if ours and ours == theirs else pair


def _by_name(
    label: str,
    cache: Iterable[tuple[str, bytes]],
    database: Iterable[tuple[str, bytes]],
    struct: Struct,
) -> Iterator[Pair]:
    ours, theirs = ({name: (data,) for name, data in side} for side in (cache, database))
    for name in dict.fromkeys((*ours, *theirs)):
        yield Pair(f"{label} {name}", ours.get(name), theirs.get(name), _of(struct))


_PAIRS: Final[dict[TargetKind, Callable[[Objects, Objects, Target], Iterator[Pair]]]] = {
    TargetKind.TABLE: _tables,
    TargetKind.PARTITIONS: _partitions,
    TargetKind.STATISTICS: _statistics,
    TargetKind.CONSTRAINTS: _constraints,
    TargetKind.NAMES: _names,
    TargetKind.FUNCTIONS: _functions,
    TargetKind.DATABASES: _databases,
}


def _pages(cache: Objects, database: Objects, table: TableName) -> Iterator[tuple[Values, ...]]:
    """The values of all partitions of both sides, in pages."""
    values = set(cache.partition_values(table, (), None))
    values.update(database.partition_values(table, (), None))
    ordered = sorted(values)
    for start in range(0, len(ordered), PARTITIONS_AT_ONCE):
        yield tuple(ordered[start : start + PARTITIONS_AT_ONCE])


def _partition_keys(cache: Objects, database: Objects, table: TableName) -> Values:
    data = cache.table(table) or database.table(table)
    return () if data is None else TableView(data).partition_keys


def _named(keys: Values, values: Values) -> str:
    return partition_name(keys, values) if len(keys) == len(values) else "/".join(values)


def _by_column(figures: Iterable[ColumnFigures]) -> dict[tuple[str, str], Parts]:
    return {
        (column.engine, column.column): (column.last_analyzed.to_bytes(8, signed=True), column.data)
        for column in figures
    }


def _of(struct: Struct) -> Read:
    return lambda parts: decode(struct, parts[0])


def _of_list(struct: Struct) -> Read:
    return lambda parts: {str(place): decode(struct, part) for place, part in enumerate(parts)}


def _read_figures(parts: Parts) -> Mapping[str, Any]:
    last_analyzed, data = parts
    statistics = decode(COLUMN_STATISTICS_OBJ, data)
    return {"lastAnalyzed": int.from_bytes(last_analyzed, signed=True), **statistics}


def _read_line(parts: Parts) -> Mapping[str, Any]:
    kind, comment, owner, owner_type = msgspec.json.decode(parts[0])
    return {
        "tableType": kind,
        "ownerName": owner,
        "ownerType": owner_type,
        "comments": comment,
    }
