"""The JSON of NOTIFICATION_LOG's messages, one struct for each shape, as Hive 4.0 to 4.2 write
it."""

from typing import Annotated, Any

import msgspec
from msgspec import Meta

Long = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
"""Java's long; a larger number wouldn't fit into a record or a store."""
Id = Annotated[int, Meta(ge=0, lt=2**62)]
"""A transaction id or a write id; the fold makes keys of them."""


class Message(msgspec.Struct, kw_only=True, rename="camel"):
    """The fields of all messages."""

    server: str | None = ""
    service_principal: str | None = ""
    timestamp: Long | None = None


class DatabaseMessage(Message, kw_only=True):
    """The message of CREATE_DATABASE and DROP_DATABASE."""

    db: str
    db_json: str


class AlterDatabaseMessage(Message, kw_only=True):
    db: str
    db_obj_before_json: str
    db_obj_after_json: str


class TableMessage(Message, kw_only=True):
    """The fields of all messages about a table."""

    db: str
    table: str
    table_type: str | None = None


class CreateTableMessage(TableMessage, kw_only=True):
    table_obj_json: str
    files: list[Any] | None = None


class DropTableMessage(TableMessage, kw_only=True):
    """The message of DROP_TABLE; old releases lack the object."""

    table_obj_json: str | None = None


class AlterTableMessage(TableMessage, kw_only=True):
    table_obj_before_json: str
    table_obj_after_json: str
    is_truncate_op: str | None = "false"
    write_id: Long | None = -1


class AddPartitionMessage(TableMessage, kw_only=True):
    table_obj_json: str
    partitions: list[dict[str, str | None]] = []
    partition_list_json: list[str]
    partition_files: list[Any] | None = None


class AlterPartitionMessage(TableMessage, kw_only=True):
    table_obj_json: str
    key_values: dict[str, str | None] = {}
    partition_obj_before_json: str
    partition_obj_after_json: str
    is_truncate_op: str | None = "false"
    write_id: Long | None = -1


class AlterPartitionsMessage(TableMessage, kw_only=True):
    """The message of ALTER_PARTITIONS, from 4.1 on."""

    table_obj_json: str
    partitions: list[dict[str, str | None]] = []
    partition_list_json: list[str]
    is_truncate_op: str | None = "false"
    write_id: Long | None = -1


class DropPartitionMessage(TableMessage, kw_only=True):
    """The message of DROP_PARTITION: values only."""

    table_obj_json: str | None = None
    partitions: list[dict[str, str | None]]


class InsertMessage(TableMessage, kw_only=True):
    table_obj_json: str | None = None
    ptn_obj_json: str | None = None
    replace: str | None = "false"
    files: list[Any] | None = None


class ReloadMessage(TableMessage, kw_only=True):
    """The message of RELOAD; only 4.2 writes the list of partitions."""

    table_obj_json: str | None = None
    ptn_obj_json: str | None = None
    refresh_event: str | None = "false"
    partition_list_json: list[str] | None = None


class CreateFunctionMessage(Message, kw_only=True):
    db: str
    function_obj_json: str


class DropFunctionMessage(Message, kw_only=True):
    db: str
    function_name: str


class PrimaryKeyMessage(Message, kw_only=True):
    primary_key_list_json: list[str]


class ForeignKeyMessage(Message, kw_only=True):
    foreign_key_list_json: list[str]


class UniqueConstraintMessage(Message, kw_only=True):
    unique_constraint_list_json: list[str]


class NotNullConstraintMessage(Message, kw_only=True):
    not_null_constraint_list_json: list[str]


class DefaultConstraintMessage(Message, kw_only=True):
    default_constraint_list_json: list[str]


class CheckConstraintMessage(Message, kw_only=True):
    check_constraint_list_json: list[str]


class DropConstraintMessage(Message, kw_only=True):
    db_name: str
    table_name: str
    constraint_name: str


class OpenTxnMessage(Message, kw_only=True):
    """The message of OPEN_TXN: a list or, as Hive writes it, a range."""

    txn_ids: list[Id] | None = None
    from_txn_id: Id | None = None
    to_txn_id: Id | None = None


class CommitTxnMessage(Message, kw_only=True):
    """The message of COMMIT_TXN: write ids with the database of each from 4.1 on."""

    txnid: Id
    write_ids: list[Long] | None = None
    databases: list[str] | None = None
    tables: list[str] | None = None
    partitions: list[str] | None = None
    table_objs: list[str] | None = None
    partition_objs: list[str] | None = None
    files: list[str] | None = None


class AbortTxnMessage(Message, kw_only=True):
    """The message of ABORT_TXN: write ids from 4.1 on."""

    txnid: Id
    dbs_updated: list[str] | None = None
    write_ids: list[Long] | None = None


class AllocWriteIdMessage(Message, kw_only=True):
    db_name: str
    table_name: str
    txn_id_list: list[Id]
    write_id_list: list[Id]


class AcidWriteMessage(Message, kw_only=True):
    txnid: Id
    write_id: Long | None = None
    database: str
    table: str
    partition: str | None = None
    table_obj_json: str | None = None
    partition_obj_json: str | None = None
    files: list[str] | None = None


class UpdateTableStatsMessage(Message, kw_only=True):
    database: str
    col_stats_json: str
    parameters: dict[str, str] | None = None
    table_obj_json: str | None = None
    write_id: Long | None = -1


class UpdatePartitionStatsMessage(UpdateTableStatsMessage, kw_only=True):
    part_vals: list[str]


class DeleteTableStatsMessage(Message, kw_only=True):
    """The message of DELETE_TBL_COL_STAT_EVENT: no column means all; the table is named by the row
    alone."""

    database: str
    col_name: str | None = None


class DeletePartitionStatsMessage(DeleteTableStatsMessage, kw_only=True):
    part_name: str | None = None
    part_values: list[str]


class CommitCompactionMessage(Message, kw_only=True):
    txnid: Long
    compaction_id: Long | None = None
    type: str | None = None
    dbname: str
    table_name: str
    part_name: str | None = None


class CatalogMessage(Message, kw_only=True):
    """The message of CREATE_CATALOG and DROP_CATALOG."""

    catalog: str


class AlterCatalogMessage(Message, kw_only=True):
    cat_obj_before_json: str
    cat_obj_after_json: str


MESSAGE_TYPES: dict[str, type[Message]] = {
    "CREATE_DATABASE": DatabaseMessage,
    "DROP_DATABASE": DatabaseMessage,
    "ALTER_DATABASE": AlterDatabaseMessage,
    "CREATE_TABLE": CreateTableMessage,
    "DROP_TABLE": DropTableMessage,
    "ALTER_TABLE": AlterTableMessage,
    "ADD_PARTITION": AddPartitionMessage,
    "ALTER_PARTITION": AlterPartitionMessage,
    "ALTER_PARTITIONS": AlterPartitionsMessage,
    "DROP_PARTITION": DropPartitionMessage,
    "INSERT": InsertMessage,
    "RELOAD": ReloadMessage,
    "CREATE_FUNCTION": CreateFunctionMessage,
    "DROP_FUNCTION": DropFunctionMessage,
    "ADD_PRIMARYKEY": PrimaryKeyMessage,
    "ADD_FOREIGNKEY": ForeignKeyMessage,
    "ADD_UNIQUECONSTRAINT": UniqueConstraintMessage,
    "ADD_NOTNULLCONSTRAINT": NotNullConstraintMessage,
    "ADD_DEFAULTCONSTRAINT": DefaultConstraintMessage,
    "ADD_CHECKCONSTRAINT": CheckConstraintMessage,
    "DROP_CONSTRAINT": DropConstraintMessage,
    "OPEN_TXN": OpenTxnMessage,
    "COMMIT_TXN": CommitTxnMessage,
    "ABORT_TXN": AbortTxnMessage,
    "ALLOC_WRITE_ID_EVENT": AllocWriteIdMessage,
    "ACID_WRITE_EVENT": AcidWriteMessage,
    "UPDATE_TBL_COL_STAT_EVENT": UpdateTableStatsMessage,
    "UPDATE_PART_COL_STAT_EVENT": UpdatePartitionStatsMessage,
    "UPDATE_PART_COL_STAT_EVENT_BATCH": UpdatePartitionStatsMessage,
    "DELETE_TBL_COL_STAT_EVENT": DeleteTableStatsMessage,
    "DELETE_PART_COL_STAT_EVENT": DeletePartitionStatsMessage,
    "COMMIT_COMPACTION_EVENT": CommitCompactionMessage,
    "CREATE_CATALOG": CatalogMessage,
    "DROP_CATALOG": CatalogMessage,
    "ALTER_CATALOG": AlterCatalogMessage,
}
"""The messages by the values of EVENT_TYPE."""
