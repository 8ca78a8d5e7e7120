"""The targets that a row of the notification log may change, by its type and names."""

from typing import Final

import msgspec

from hive.errors import EventError
from hive.events import event_types
from hive.events.decode import HARMLESS, decode, names_of_altered_table
from hive.events.row import NotificationRow
from hive.names import TableName, default_catalog, table_name
from query_api.targets import Target, TargetKind

WITH_MESSAGE: Final = ("ALTER_TABLE", *event_types.ADD_CONSTRAINTS)
"""Types whose rows name only one table: of a rename the new name, of a foreign key the parent."""

_NOTHING: Final = HARMLESS | {"OPEN_TXN", "COMMIT_TXN", "ABORT_TXN", "ALLOC_WRITE_ID_EVENT"}
_NAMES: Final = frozenset(("CREATE_TABLE", "DROP_TABLE"))
_BELOW_TABLE: Final = frozenset(
    (
        "ADD_PARTITION",
        "ALTER_PARTITION",
        "ALTER_PARTITIONS",
        "DROP_PARTITION",
        "INSERT",
        "RELOAD",
        "COMMIT_COMPACTION_EVENT",
        "UPDATE_TBL_COL_STAT_EVENT",
        "DELETE_TBL_COL_STAT_EVENT",
        "UPDATE_PART_COL_STAT_EVENT",
        "UPDATE_PART_COL_STAT_EVENT_BATCH",
        "DELETE_PART_COL_STAT_EVENT",
        "DROP_CONSTRAINT",
    )
)
_DATABASE: Final = frozenset(("CREATE_DATABASE", "ALTER_DATABASE"))
_FUNCTION: Final = frozenset(("CREATE_FUNCTION", "DROP_FUNCTION"))


class RowEffects(msgspec.Struct, frozen=True):
    """The targets that one row may have changed."""

    everything: bool = False
    tables: tuple[TableName, ...] = ()
    others: tuple[Target, ...] = ()


NOTHING: Final = RowEffects()
EVERYTHING: Final = RowEffects(everything=True)


def effects_of(row: NotificationRow) -> RowEffects:
    """The targets that a row touches; all of them, if in doubt."""
    kind = row.event_type
    if kind in _NOTHING:
        return NOTHING
    if kind in WITH_MESSAGE:
        return _touched_by_message(row)
    if not row.db_name:
        return EVERYTHING
    db = TableName((row.cat_name or default_catalog()).lower(), row.db_name.lower(), "")
    if kind in _DATABASE:
        of_catalog = Target(TargetKind.DATABASES, TableName(db.catalog, "", ""))
        return RowEffects(
            others=(Target(TargetKind.DATABASE, db), Target(TargetKind.NAMES, db), of_catalog)
        )
    if kind in _FUNCTION:
        return RowEffects(others=(Target(TargetKind.FUNCTIONS, db),))
    if row.tbl_name and kind in _NAMES | _BELOW_TABLE:
        table = table_name(row.cat_name, row.db_name, row.tbl_name)
        return RowEffects(tables=(table,), others=_names_of(table) if kind in _NAMES else ())
    return EVERYTHING


def _touched_by_message(row: NotificationRow) -> RowEffects:
    try:
        if row.event_type == "ALTER_TABLE":
            before, table = names_of_altered_table(row)
            return RowEffects(
                tables=(table, before), others=(*_names_of(table), *_names_of(before))
            )
        event = decode(row)
    except EventError:
        return EVERYTHING
    match event:
        case event_types.AddConstraints(table=table) if row.db_name and row.tbl_name:
            return RowEffects(tables=(table, table_name(row.cat_name, row.db_name, row.tbl_name)))
    return EVERYTHING


def _names_of(table: TableName) -> tuple[Target, ...]:
    return (Target(TargetKind.NAMES, table._replace(table="")),)
