"""Answers as JSON, with the field names of Hive's Thrift. Binary fields are base64."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, Final

import msgspec

from hive.aggregate import Aggregate
from hive.thrift.binary import decode
from hive.thrift.splice import without_mark
from hive.thrift.statistics import COLUMN_STATISTICS_OBJ
from hive.thrift.structs import DATABASE, FUNCTION, PARTITION, TABLE
from hive.write_ids.text import print_txn_list, print_write_id_list
from query_api.database.reads import Snapshots
from query_api.http.json_objects import as_json
from query_api.http.partitions import PartitionWriter
from query_api.objects import ColumnFigures, ConstraintColumns
from query_api.reads import Slice
from query_api.reads.databases import Named
from query_api.reads.statistics import PartitionFigures
from query_api.reads.tables import TableLine
from query_api.remembered import remembered
from state.records.objects import CONSTRAINTS
from state.shard_reader import NameLine

_NAMES_AT_ONCE: Final = 100
_CONSTRAINT_FIELDS: Final = {
    "primary_key": "primaryKeys",
    "foreign_key": "foreignKeys",
    "unique": "uniqueConstraints",
    "not_null": "notNullConstraints",
    "default": "defaultConstraints",
    "check": "checkConstraints",
}


@remembered(1024)
def table(data: bytes) -> bytes:
    """A Table."""
    return as_json(decode(TABLE, data))


@remembered(1024)
def partition(data: bytes) -> bytes:
    """A Partition."""
    return as_json(decode(PARTITION, without_mark(data)))


def database(data: bytes) -> bytes:
    """A Database."""
    return as_json(decode(DATABASE, data))


def function(data: bytes) -> bytes:
    """A Function."""
    return as_json(decode(FUNCTION, data))


def tables(answer: Iterable[bytes]) -> bytes:
    """Several tables."""
    return as_json({"tables": [msgspec.Raw(table(data)) for data in answer]})


def table_lines(answer: Slice[NameLine]) -> bytes:
    """A TableMeta of each table."""
    return _page("tables", answer, _table_line)


def table_lines_of_all(answer: Slice[TableLine]) -> bytes:
    """A TableMeta of each table, with its database."""
    return _page("tables", answer, lambda row: {"dbName": row.db, **_table_line(row.line)})


def databases(answer: Slice[Named]) -> bytes:
    """Databases."""
    return _page("databases", answer, lambda named: decode(DATABASE, named[1]))


def functions(answer: Slice[Named]) -> bytes:
    """Functions."""
    return _page("functions", answer, lambda named: decode(FUNCTION, named[1]))


def partitions(answer: Slice[bytes]) -> bytes:
    """Partitions."""
    write = PartitionWriter().write
    return _page("partitions", answer, lambda data: msgspec.Raw(write(data)))


def partition_lines(answer: Slice[bytes]) -> Iterator[bytes]:
    """Partitions, one per line."""
    return map(PartitionWriter().write, answer.items)


def partition_names(answer: Slice[str]) -> bytes:
    """The names of partitions."""
    return as_json({"names": answer.items, "next": answer.next})


def partition_name_lines(answer: Slice[str]) -> Iterator[bytes]:
    """The names of partitions, many lines at a time."""
    names = iter(answer.items)
    while some := list(islice(names, _NAMES_AT_ONCE)):
        items = as_json(some)[1:-1]
        # Without escapes all quotes are around names, and only a comma as a name looks like what
        # separates them.
        if b"\\" in items or "," in some:
            yield b"\n".join(map(as_json, some))
        else:
            yield items.replace(b'","', b'"\n"')


def count(answer: int) -> bytes:
    """The number of objects."""
    return as_json({"count": answer})


def current_event(answer: int) -> bytes:
    """The id of the last event."""
    return as_json({"eventId": answer})


def catalogs(answer: list[str]) -> bytes:
    """The names of catalogs."""
    return as_json({"names": answer})


def table_statistics(answer: list[ColumnFigures]) -> bytes:
    """The statistics of each column of a table."""
    return as_json({"tableStats": _columns(answer)})


def partition_statistics(answer: list[PartitionFigures]) -> bytes:
    """The statistics of each column, by the names of the partitions."""
    return as_json(
        {"partStats": {partition.name: _columns(partition.columns) for partition in answer}}
    )


def aggregates(answer: dict[str, Aggregate]) -> bytes:
    """Statistics aggregated over all partitions; `missing` names those that only Hive can give."""
    return as_json(
        {
            "colStats": [
                aggregate.statistics
                for aggregate in answer.values()
                if aggregate.statistics is not None
            ],
            "missing": {
                column: aggregate.missing
                for column, aggregate in answer.items()
                if aggregate.missing
            },
        }
    )


def constraints(answer: list[ConstraintColumns]) -> bytes:
    """Constraints of all kinds, as SQLAllTableConstraints."""
    by_field: dict[str, list[Any]] = {field: [] for field in _CONSTRAINT_FIELDS.values()}
    for constraint in answer:
        label, struct = CONSTRAINTS[constraint.kind]
        by_field[_CONSTRAINT_FIELDS[label]] += [
            decode(struct, column) for column in constraint.columns
        ]
    return as_json(by_field)


def write_ids(answer: Snapshots) -> bytes:
    """The write-id lists as texts that a reader passes on, with the ids of the tables."""
    return as_json(
        {
            "validTxnList": print_txn_list(answer.txns),
            "tables": [
                {
                    "fullTableName": str(table.name),
                    "id": table.id,
                    "validWriteIdList": print_write_id_list(table.write_ids),
                }
                for table in answer.tables
            ],
        }
    )


def _table_line(line: NameLine) -> dict[str, Any]:
    return {
        "tableName": line.table,
        "tableType": line.type,
        "ownerName": line.owner or "",
        "comments": line.comment,
    }


def _columns(figures: Iterable[ColumnFigures]) -> list[dict[str, Any]]:
    return [decode(COLUMN_STATISTICS_OBJ, column.data) for column in figures]


def _page(field: str, answer: Slice[Any], convert: Any) -> bytes:
    return as_json({field: [convert(item) for item in answer.items], "next": answer.next})
