"""What the reader finds, in the shape of what `tests.support.hive.hms_state` asks for."""

from collections import defaultdict
from typing import Any

from hive.names import TableName
from hive.reader.constraints import read_constraints
from hive.reader.databases import read_databases, read_functions
from hive.reader.partitions import stream_partitions
from hive.reader.rows.statistics import StoredStatistics
from hive.reader.snapshot import DatabaseSnapshot
from hive.reader.statistics import OF_PARTITIONS, OF_TABLES, stream_statistics
from hive.reader.tables import read_tables
from hive.reader.write_ids import read_txns, read_write_ids
from hive.thrift.binary import decode
from hive.thrift.constraints import (
    CHECK_CONSTRAINT,
    DEFAULT_CONSTRAINT,
    FOREIGN_KEY,
    NOT_NULL_CONSTRAINT,
    PRIMARY_KEY,
    UNIQUE_CONSTRAINT,
)
from hive.thrift.statistics import COLUMN_STATISTICS_OBJ
from hive.thrift.structs import DATABASE, FUNCTION, PARTITION, TABLE
from hive.write_ids.snapshot import valid_write_ids
from hive.write_ids.text import print_write_id_list
from tests.support.hive.idl import plain

CONSTRAINTS = (
    ("primary_keys", PRIMARY_KEY),
    ("foreign_keys", FOREIGN_KEY),
    ("unique", UNIQUE_CONSTRAINT),
    ("not_null", NOT_NULL_CONSTRAINT),
    ("default", DEFAULT_CONSTRAINT),
    ("check", CHECK_CONSTRAINT),
)

COMPUTED_FOR_THE_CALLER = {
    "accessType",
    "requiredReadCapabilities",
    "requiredWriteCapabilities",
    "isStatsCompliant",
    "privileges",
}
"""Fields of an answer that depend on the request. Nothing of them is stored."""

ACCEPTED = {
    "creationMetadata": "how a materialized view was made: only a metastore tells",
}
"""Fields that the reader leaves out."""


def expected(answer: Any) -> Any:
    """A metastore's answer without the fields that the reader rightly lacks."""
    if isinstance(answer, dict):
        return {
            key: expected(item)
            for key, item in answer.items()
            if key not in COMPUTED_FOR_THE_CALLER and key not in ACCEPTED
        }
    return [expected(item) for item in answer] if isinstance(answer, list) else answer


def read_state(snapshot: DatabaseSnapshot) -> dict[str, Any]:
    """The whole default catalog."""
    default = snapshot.tables["DBS"].c.CTLG_NAME == "hive"
    tables = read_tables(snapshot, default)
    by_id = {table.id: table.name for table in tables}
    state: dict[str, Any] = {
        "event_id": snapshot.position,
        "databases": {
            db.name.db: plain(decode(DATABASE, db.data)) for db in read_databases(snapshot, default)
        },
        "tables": {t.name.in_catalog: plain(decode(TABLE, t.data)) for t in tables},
        "functions": {
            f"{one.db}.{one.name}": plain(decode(FUNCTION, one.data))
            for one in read_functions(snapshot, default)
        },
        "constraints": _constraints(snapshot, by_id),
        "valid_write_ids": _write_ids(snapshot, by_id),
    }
    _add_partitions(snapshot, by_id, state)
    columns = _columns(snapshot, OF_TABLES, list(by_id))
    state["table_statistics"] = {by_id[id_].in_catalog: found for id_, found in columns.items()}
    return state


def _add_partitions(
    snapshot: DatabaseSnapshot, tables: dict[int, TableName], state: dict[str, Any]
) -> None:
    state["partitions"] = defaultdict(dict)
    state["partition_statistics"] = defaultdict(dict)
    names: dict[int, tuple[str, str]] = {}
    for page in stream_partitions(snapshot, tables):
        for id_, partition in ((id_, one) for id_, found in page.items() for one in found):
            label = tables[id_].in_catalog
            names[partition.id] = label, partition.name
            state["partitions"][label][partition.name] = plain(decode(PARTITION, partition.data))
    for id_, statistics in _columns(snapshot, OF_PARTITIONS, list(names)).items():
        label, name = names[id_]
        state["partition_statistics"][label][name] = statistics


def _columns(snapshot: DatabaseSnapshot, kind: str, owners: list[int]) -> dict[int, list[Any]]:
    statistics: dict[int, list[StoredStatistics]] = defaultdict(list)
    for page in stream_statistics(snapshot, kind, owners):
        for stored in page:
            statistics[stored.owner].append(stored)
    return {
        owner: [
            plain(decode(COLUMN_STATISTICS_OBJ, one.data))
            for one in sorted(columns, key=lambda one: one.column)
        ]
        for owner, columns in statistics.items()
    }


def _constraints(snapshot: DatabaseSnapshot, tables: dict[int, TableName]) -> dict[str, Any]:
    by_partition: dict[str, Any] = defaultdict(dict)
    shown = (one for one in read_constraints(snapshot, list(tables)) if one.columns)
    for constraint in shown:
        name, struct = CONSTRAINTS[constraint.kind]
        of_kind = by_partition[tables[constraint.table].in_catalog].setdefault(name, [])
        of_kind += [plain(decode(struct, column)) for column in constraint.columns]
    return by_partition


def _write_ids(snapshot: DatabaseSnapshot, tables: dict[int, TableName]) -> dict[str, str]:
    txns = read_txns(snapshot)
    return {
        name.in_catalog: print_write_id_list(
            valid_write_ids(txns, rows.given, rows.next, name.in_catalog)
        )
        for name, rows in read_write_ids(snapshot, list(tables.values())).items()
    }
