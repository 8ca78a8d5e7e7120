"""Writes the messages that a metastore writes about objects, for workloads and tests.

Objects are mappings with the IDL's names. `seal` gives the text of the MESSAGE column.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from hive.errors import ThriftError
from hive.events.envelope import GZIP, seal_message
from hive.events.message_types import (
    AbortTxnMessage,
    AddPartitionMessage,
    AllocWriteIdMessage,
    AlterDatabaseMessage,
    AlterPartitionMessage,
    AlterPartitionsMessage,
    AlterTableMessage,
    CheckConstraintMessage,
    CommitCompactionMessage,
    CommitTxnMessage,
    CreateFunctionMessage,
    CreateTableMessage,
    DatabaseMessage,
    DefaultConstraintMessage,
    DeletePartitionStatsMessage,
    DeleteTableStatsMessage,
    DropConstraintMessage,
    DropFunctionMessage,
    DropPartitionMessage,
    DropTableMessage,
    ForeignKeyMessage,
    InsertMessage,
    Message,
    NotNullConstraintMessage,
    OpenTxnMessage,
    PrimaryKeyMessage,
    ReloadMessage,
    UniqueConstraintMessage,
    UpdatePartitionStatsMessage,
    UpdateTableStatsMessage,
)
from hive.thrift.structs import (
    CHECK_CONSTRAINT,
    COLUMN_STATISTICS,
    DATABASE,
    DEFAULT_CONSTRAINT,
    FOREIGN_KEY,
    FUNCTION,
    NOT_NULL_CONSTRAINT,
    PARTITION,
    PRIMARY_KEY,
    TABLE,
    UNIQUE_CONSTRAINT,
)
from hive.thrift.tjson import dumps
from hive.thrift.types import Struct

Object = Mapping[str, Any]

_CONSTRAINTS: dict[str, tuple[Struct, type[Message], str]] = {
    "ADD_PRIMARYKEY": (PRIMARY_KEY, PrimaryKeyMessage, "primary_key_list_json"),
    "ADD_FOREIGNKEY": (FOREIGN_KEY, ForeignKeyMessage, "foreign_key_list_json"),
    "ADD_UNIQUECONSTRAINT": (
        UNIQUE_CONSTRAINT,
        UniqueConstraintMessage,
        "unique_constraint_list_json",
    ),
    "ADD_NOTNULLCONSTRAINT": (
        NOT_NULL_CONSTRAINT,
        NotNullConstraintMessage,
        "not_null_constraint_list_json",
    ),
    "ADD_DEFAULTCONSTRAINT": (
        DEFAULT_CONSTRAINT,
        DefaultConstraintMessage,
        "default_constraint_list_json",
    ),
    "ADD_CHECKCONSTRAINT": (CHECK_CONSTRAINT, CheckConstraintMessage, "check_constraint_list_json"),
}


def seal(message: Message, timestamp: int, message_format: str = GZIP) -> str:
    """The text of the MESSAGE column, written at this time (seconds)."""
    message = msgspec.structs.replace(message, timestamp=timestamp)
    return seal_message(msgspec.json.encode(message), message_format)


def database(db: Object) -> DatabaseMessage:
    """The message of CREATE_DATABASE or DROP_DATABASE."""
    return DatabaseMessage(db=db["name"], db_json=dumps(DATABASE, db))


def alter_database(before: Object, after: Object) -> AlterDatabaseMessage:
    return AlterDatabaseMessage(
        db=before["name"],
        db_obj_before_json=dumps(DATABASE, before),
        db_obj_after_json=dumps(DATABASE, after),
    )


def create_table(table: Object) -> CreateTableMessage:
    return CreateTableMessage(**_about(table), table_obj_json=dumps(TABLE, table), files=[])


def drop_table(table: Object) -> DropTableMessage:
    return DropTableMessage(**_about(table), table_obj_json=dumps(TABLE, table))


def alter_table(
    before: Object, after: Object, *, truncate: bool = False, write_id: int | None = None
) -> AlterTableMessage:
    """The message of ALTER_TABLE, which has the table's old name."""
    return AlterTableMessage(
        **_about(before),
        table_obj_before_json=dumps(TABLE, before),
        table_obj_after_json=dumps(TABLE, after),
        is_truncate_op=_truth(truncate),
        write_id=after.get("writeId", -1) if write_id is None else write_id,
    )


def add_partition(table: Object, partitions: Sequence[Object]) -> AddPartitionMessage:
    return AddPartitionMessage(
        **_about(table),
        table_obj_json=dumps(TABLE, table),
        partitions=[_key_values(table, p["values"]) for p in partitions],
        partition_list_json=[dumps(PARTITION, p) for p in partitions],
        partition_files=[],
    )


def alter_partition(
    table: Object, before: Object, after: Object, *, truncate: bool = False
) -> AlterPartitionMessage:
    return AlterPartitionMessage(
        **_about(table),
        table_obj_json=dumps(TABLE, table),
        key_values=_key_values(table, before["values"]),
        partition_obj_before_json=dumps(PARTITION, before),
        partition_obj_after_json=dumps(PARTITION, after),
        is_truncate_op=_truth(truncate),
        write_id=after.get("writeId", -1),
    )


def alter_partitions(
    table: Object, after: Sequence[Object], *, truncate: bool = False
) -> AlterPartitionsMessage:
    return AlterPartitionsMessage(
        **_about(table),
        table_obj_json=dumps(TABLE, table),
        partitions=[_key_values(table, p["values"]) for p in after],
        partition_list_json=[dumps(PARTITION, p) for p in after],
        is_truncate_op=_truth(truncate),
        write_id=after[0].get("writeId", -1),
    )


def drop_partition(table: Object, values: Sequence[Sequence[str]]) -> DropPartitionMessage:
    return DropPartitionMessage(
        **_about(table),
        table_obj_json=dumps(TABLE, table),
        partitions=[_key_values(table, each) for each in values],
    )


def insert(table: Object, partition: Object | None, files: Sequence[str] = ()) -> InsertMessage:
    return InsertMessage(
        **_about(table),
        table_obj_json=dumps(TABLE, table),
        ptn_obj_json=None if partition is None else dumps(PARTITION, partition),
        files=list(files),
    )


def reload(table: Object, partition: Object | None, *, refresh: bool) -> ReloadMessage:
    return ReloadMessage(
        **_about(table),
        table_obj_json=dumps(TABLE, table),
        ptn_obj_json=None if partition is None else dumps(PARTITION, partition),
        refresh_event=_truth(refresh),
    )


def create_function(function: Object) -> CreateFunctionMessage:
    return CreateFunctionMessage(db=function["dbName"], function_obj_json=dumps(FUNCTION, function))


def drop_function(db: str, function: str) -> DropFunctionMessage:
    return DropFunctionMessage(db=db, function_name=function)


def add_constraints(event_type: str, constraints: Sequence[Object]) -> Message:
    """The message of ADD_PRIMARYKEY, ADD_FOREIGNKEY, ADD_UNIQUECONSTRAINT and the like, by the
    event's type."""
    try:
        struct, message, field = _CONSTRAINTS[event_type]
    except KeyError:
        raise ThriftError(f"{event_type!r} adds no constraints") from None
    texts: dict[str, Any] = {field: [dumps(struct, each) for each in constraints]}
    return message(**texts)


def drop_constraint(db: str, table: str, constraint: str) -> DropConstraintMessage:
    return DropConstraintMessage(db_name=db, table_name=table, constraint_name=constraint)


def open_txn(first: int, last: int) -> OpenTxnMessage:
    """The message of OPEN_TXN for an inclusive range."""
    return OpenTxnMessage(from_txn_id=first, to_txn_id=last)


def commit_txn(txn: int, write_ids: Sequence[tuple[str, int]] | None = None) -> CommitTxnMessage:
    """The message of COMMIT_TXN: (database, write id) pairs from 4.1 on, none before."""
    if write_ids is None:
        return CommitTxnMessage(txnid=txn)
    return CommitTxnMessage(
        txnid=txn,
        write_ids=[write_id for _, write_id in write_ids],
        databases=[db for db, _ in write_ids],
    )


def abort_txn(
    txn: int, databases: Sequence[str] = (), write_ids: Sequence[int] | None = None
) -> AbortTxnMessage:
    """The message of ABORT_TXN: write ids from 4.1 on."""
    ids = None if write_ids is None else list(write_ids)
    return AbortTxnMessage(txnid=txn, dbs_updated=list(databases), write_ids=ids)


def alloc_write_ids(db: str, table: str, pairs: Sequence[tuple[int, int]]) -> AllocWriteIdMessage:
    """The message of ALLOC_WRITE_ID_EVENT for (transaction, write id) pairs."""
    return AllocWriteIdMessage(
        db_name=db,
        table_name=table,
        txn_id_list=[txn for txn, _ in pairs],
        write_id_list=[write_id for _, write_id in pairs],
    )


def update_table_stats(table: Object, stats: Object, write_id: int = -1) -> UpdateTableStatsMessage:
    """The message of UPDATE_TBL_COL_STAT_EVENT; the table's parameters are the new ones."""
    return UpdateTableStatsMessage(
        database=table["dbName"],
        col_stats_json=dumps(COLUMN_STATISTICS, stats),
        parameters=dict(table["parameters"]),
        table_obj_json=dumps(TABLE, table),
        write_id=write_id,
    )


def update_partition_stats(
    table: Object, partition: Object, stats: Object, write_id: int = -1
) -> UpdatePartitionStatsMessage:
    """The message of UPDATE_PART_COL_STAT_EVENT; the partition's parameters are the new ones."""
    return UpdatePartitionStatsMessage(
        database=table["dbName"],
        col_stats_json=dumps(COLUMN_STATISTICS, stats),
        parameters=dict(partition["parameters"]),
        part_vals=list(partition["values"]),
        table_obj_json=dumps(TABLE, table),
        write_id=write_id,
    )


def delete_table_stats(db: str, column: str | None) -> DeleteTableStatsMessage:
    return DeleteTableStatsMessage(database=db, col_name=column)


def delete_partition_stats(
    db: str, partition: str, values: Sequence[str], column: str | None
) -> DeletePartitionStatsMessage:
    return DeletePartitionStatsMessage(
        database=db, col_name=column, part_name=partition, part_values=list(values)
    )


def commit_compaction(
    txn: int, compaction: int, kind: str, db: str, table: str, partition: str | None
) -> CommitCompactionMessage:
    return CommitCompactionMessage(
        txnid=txn,
        compaction_id=compaction,
        type=kind,
        dbname=db,
        table_name=table,
        part_name=partition,
    )


def _about(table: Object) -> dict[str, Any]:
    return {
        "db": table["dbName"],
        "table": table["tableName"],
        "table_type": table.get("tableType"),
    }


def _key_values(table: Object, values: Sequence[str]) -> dict[str, str | None]:
    keys = [column["name"] for column in table["partitionKeys"]]
    return dict(zip(keys, values, strict=True))


def _truth(value: bool) -> str:
    return "true" if value else "false"
