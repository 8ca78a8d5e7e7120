"""Decodes the messages about tables, their statistics and constraints."""

from typing import Any

from hive.errors import ThriftError
from hive.events import message_types, object_fields, objects, stored_objects
from hive.events.event_types import (
    AddConstraints,
    AlterTable,
    CreateTable,
    DeleteTableStatistics,
    DropConstraint,
    DropTable,
    UpdateTableStatistics,
)
from hive.events.parsed_objects import load_table
from hive.events.row import NotificationRow
from hive.names import TableName, table_name
from hive.thrift.structs import (
    CHECK_CONSTRAINT,
    DEFAULT_CONSTRAINT,
    FOREIGN_KEY,
    NOT_NULL_CONSTRAINT,
    PRIMARY_KEY,
    TABLE,
    UNIQUE_CONSTRAINT,
)
from hive.thrift.tjson import loads, transcode_value
from hive.thrift.types import Struct

Common = dict[str, Any]
"""The fields that all events have: event id, time, type and unknown fields."""

_CONSTRAINTS: dict[str, tuple[str, str, Struct, str]] = {
    "ADD_PRIMARYKEY": ("primaryKeys", "primary_key_list_json", PRIMARY_KEY, "5"),
    "ADD_FOREIGNKEY": ("foreignKeys", "foreign_key_list_json", FOREIGN_KEY, "10"),
    "ADD_UNIQUECONSTRAINT": (
        "uniqueConstraints",
        "unique_constraint_list_json",
        UNIQUE_CONSTRAINT,
        "6",
    ),
    "ADD_NOTNULLCONSTRAINT": (
        "notNullConstraints",
        "not_null_constraint_list_json",
        NOT_NULL_CONSTRAINT,
        "5",
    ),
    "ADD_DEFAULTCONSTRAINT": (
        "defaultConstraints",
        "default_constraint_list_json",
        DEFAULT_CONSTRAINT,
        "6",
    ),
    "ADD_CHECKCONSTRAINT": (
        "checkConstraints",
        "check_constraint_list_json",
        CHECK_CONSTRAINT,
        "6",
    ),
}
_TABLE_FIELDS: dict[Struct, tuple[str, str]] = {PRIMARY_KEY: ("1", "2"), FOREIGN_KEY: ("4", "5")}
"""The fields with the table's database and name; 2 and 3 in all others."""


def named(row: NotificationRow, db: str | None = None, table: str | None = None) -> TableName:
    """The table that a row names; the message's names fill in what the row lacks."""
    db, table = row.db_name or db, row.tbl_name or table
    if not db or not table:
        raise ThriftError("neither row nor message name a table")
    return table_name(row.cat_name, db, table)


def create_table(
    row: NotificationRow, message: message_types.CreateTableMessage, common: Common
) -> CreateTable:
    value = load_table(message.table_obj_json)
    return CreateTable(
        **common,
        table=objects.name_of(value, row.cat_name),
        image=objects.table_image(stored_objects.created_table(value)),
        write_id=object_fields.given_write_id(object_fields.table_write_id(value)),
    )


def drop_table(
    row: NotificationRow, message: message_types.DropTableMessage, common: Common
) -> DropTable:
    table_before = objects.table_before(message.table_obj_json)
    return DropTable(
        **common,
        table=named(row, message.db, message.table),
        id=table_before.id if table_before else 0,
        transactional=table_before is not None and table_before.transactional,
    )


def names_of_altered(
    row: NotificationRow, message: message_types.AlterTableMessage
) -> tuple[TableName, TableName]:
    """The names that a table had before an ALTER_TABLE, and has after it."""
    before, after = (
        load_table(message.table_obj_before_json),
        load_table(message.table_obj_after_json),
    )
    return objects.name_of(before, row.cat_name), objects.name_of(after, row.cat_name)


def alter_table(
    row: NotificationRow, message: message_types.AlterTableMessage, common: Common
) -> AlterTable:
    """Decodes ALTER_TABLE: the row has the table's new name, the message its old one."""
    before = load_table(message.table_obj_before_json)
    after = load_table(message.table_obj_after_json)
    old, new = objects.name_of(before, row.cat_name), objects.name_of(after, row.cat_name)
    stored, is_known = stored_objects.altered_table(before, after, renamed=old != new)
    image = objects.table_image(stored)
    listed_before = objects.listed_fields(before)
    return AlterTable(
        **common,
        table=new,
        before=old,
        before_data=transcode_value(TABLE, before),
        image=image,
        write_id=object_fields.given_write_id(
            message.write_id, object_fields.table_write_id(after)
        ),
        truncate=message.is_truncate_op == "true",
        columns_changed=object_fields.table_columns_differ(before, after),
        location_changed=object_fields.location(before) != object_fields.location(after),
        partition_keys_changed=object_fields.partition_keys_differ(before, after),
        listed_before=listed_before,
        listed_changed=listed_before != image.listed,
        known=is_known,
    )


def update_statistics(
    row: NotificationRow, message: message_types.UpdateTableStatsMessage, common: Common
) -> UpdateTableStatistics:
    """Decodes UPDATE_TBL_COL_STAT_EVENT."""
    engine, last_analyzed, columns = objects.statistics(message.col_stats_json)
    write_id = object_fields.given_write_id(message.write_id)
    image = None
    if message.table_obj_json is not None:
        table = load_table(message.table_obj_json)
        parameters = message.parameters
        if parameters is None:
            parameters = object_fields.parameters(table)
        image = objects.table_image(
            stored_objects.table_with_statistics(table, parameters, write_id)
        )
    return UpdateTableStatistics(
        **common,
        table=named(row),
        image=image,
        engine=engine,
        last_analyzed=last_analyzed,
        columns=columns,
        write_id=write_id,
    )


def delete_statistics(
    row: NotificationRow, message: message_types.DeleteTableStatsMessage, common: Common
) -> DeleteTableStatistics:
    """Decodes DELETE_TBL_COL_STAT_EVENT."""
    return DeleteTableStatistics(**common, table=named(row), column=_folded(message.col_name))


def add_constraints(
    row: NotificationRow, message: message_types.Message, common: Common
) -> AddConstraints:
    """Decodes ADD_PRIMARYKEY and its like. A foreign key belongs to the child, though the row names
    the parent."""
    kind, field, struct, name_field = _CONSTRAINTS[row.event_type]
    values = [loads(text) for text in getattr(message, field)]
    table = named(row) if struct is not FOREIGN_KEY else _child(row, values)
    db_field, table_field = _TABLE_FIELDS.get(struct, ("2", "3"))
    tables = {
        tuple((objects.text_of(value, name) or "").lower() for name in (db_field, table_field))
        for value in values
    }
    if len(tables) > 1:
        raise ThriftError(f"one event adds constraints to {len(tables)} tables")
    return AddConstraints(
        **common,
        table=table,
        kind=kind,
        constraints=tuple(
            (objects.text_of(value, name_field) or "", transcode_value(struct, value))
            for value in values
        ),
    )


def _child(row: NotificationRow, foreign_keys: list[dict[str, Any]]) -> TableName:
    if not foreign_keys:
        raise ThriftError("an ADD_FOREIGNKEY without keys names no child")
    first = foreign_keys[0]
    catalog = objects.text_of(first, "15") or row.cat_name
    return table_name(catalog, first["4"]["str"], first["5"]["str"])


def drop_constraint(
    row: NotificationRow, message: message_types.DropConstraintMessage, common: Common
) -> DropConstraint:
    table = named(row, message.db_name, message.table_name)
    return DropConstraint(**common, table=table, constraint=message.constraint_name)


def _folded(column: str | None) -> str | None:
    return None if column is None else column.lower()
