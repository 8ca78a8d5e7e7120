"""NOTIFICATION_LOG rows → typed events.

A row that can't be read raises EventError, which names the event, and the caller sets the row
aside. An unknown type of event becomes an OtherEvent with the whole message. Unknown fields of a
message go into `other`; those of an object stay in its bytes.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import msgspec

from hive.errors import EventError, NameFormatError, ThriftError
from hive.events import decode_others, decode_partitions, decode_tables
from hive.events.envelope import MESSAGE_BYTES_MAX, open_message
from hive.events.event_types import Event, OtherEvent
from hive.events.kept_characters import Lacked, as_kept
from hive.events.message_types import MESSAGE_TYPES, AlterTableMessage, Message
from hive.events.row import NotificationRow
from hive.names import TableName
from hive.thrift.tjson import DECODE_FAILURES, loads

Decoder = Callable[[NotificationRow, Any, dict[str, Any]], Event]

_DECODERS: dict[str, Decoder] = {
    "CREATE_TABLE": decode_tables.create_table,
    "DROP_TABLE": decode_tables.drop_table,
    "ALTER_TABLE": decode_tables.alter_table,
    "UPDATE_TBL_COL_STAT_EVENT": decode_tables.update_statistics,
    "DELETE_TBL_COL_STAT_EVENT": decode_tables.delete_statistics,
    "ADD_PRIMARYKEY": decode_tables.add_constraints,
    "ADD_FOREIGNKEY": decode_tables.add_constraints,
    "ADD_UNIQUECONSTRAINT": decode_tables.add_constraints,
    "ADD_NOTNULLCONSTRAINT": decode_tables.add_constraints,
    "ADD_DEFAULTCONSTRAINT": decode_tables.add_constraints,
    "ADD_CHECKCONSTRAINT": decode_tables.add_constraints,
    "DROP_CONSTRAINT": decode_tables.drop_constraint,
    "ADD_PARTITION": decode_partitions.add_partitions,
    "ALTER_PARTITION": decode_partitions.alter_partition,
    "ALTER_PARTITIONS": decode_partitions.alter_partitions,
    "DROP_PARTITION": decode_partitions.drop_partitions,
    "INSERT": decode_partitions.insert,
    "RELOAD": decode_partitions.reload,
    "UPDATE_PART_COL_STAT_EVENT": decode_partitions.update_statistics,
    "UPDATE_PART_COL_STAT_EVENT_BATCH": decode_partitions.update_statistics,
    "DELETE_PART_COL_STAT_EVENT": decode_partitions.delete_statistics,
    "CREATE_DATABASE": decode_others.create_database,
    "ALTER_DATABASE": decode_others.alter_database,
    "DROP_DATABASE": decode_others.drop_database,
    "CREATE_FUNCTION": decode_others.create_function,
    "DROP_FUNCTION": decode_others.drop_function,
    "OPEN_TXN": decode_others.open_transactions,
    "COMMIT_TXN": decode_others.commit_transaction,
    "ABORT_TXN": decode_others.abort_transaction,
    "ALLOC_WRITE_ID_EVENT": decode_others.allocate_write_ids,
    "COMMIT_COMPACTION_EVENT": decode_others.commit_compaction,
    "ACID_WRITE_EVENT": decode_others.acid_write,
    "CREATE_CATALOG": decode_others.catalog,
    "DROP_CATALOG": decode_others.catalog,
    "ALTER_CATALOG": decode_others.alter_catalog,
}
HARMLESS = frozenset(
    [
        "BATCH_ACID_WRITE_EVENT",
        "CONFIG_CHANGE_EVENT",
        *(f"{verb}_ISCHEMA" for verb in ("CREATE", "ALTER", "DROP")),
        *(f"{verb}_SCHEMA_VERSION" for verb in ("ADD", "ALTER", "DROP")),
        *(f"{verb}_DATACONNECTOR" for verb in ("CREATE", "ALTER", "DROP")),
    ]
)
"""The event types of Hive 4.0 to 4.2 that change nothing that is cached."""


def decode(
    row: NotificationRow,
    message_bytes_max: int = MESSAGE_BYTES_MAX,
    *,
    lacked: Lacked | None = None,
) -> Event:
    """The typed event of a row, with what a database has stored that lacks some characters."""
    try:
        text = open_message(row.message, row.message_format, message_bytes_max)
        if lacked is not None:
            text = as_kept(text, lacked)
        decoder = _DECODERS.get(row.event_type)
        return _unknown(row, text) if decoder is None else _decoded(row, text, decoder)
    except ThriftError as error:
        raise EventError(row.event_id, row.event_type, str(error)) from None
    except (NameFormatError, *DECODE_FAILURES) as error:
        why = f"{type(error).__name__} {error}"
        raise EventError(row.event_id, row.event_type, why) from None


def names_of_altered_table(row: NotificationRow) -> tuple[TableName, TableName]:
    """The names that a table had before an ALTER_TABLE, and has after it; decoding all of it takes
    several times as long.
    """
    try:
        fields = loads(open_message(row.message, row.message_format))
        message = msgspec.convert(fields, AlterTableMessage)
        return decode_tables.names_of_altered(row, message)
    except (NameFormatError, ThriftError, *DECODE_FAILURES) as error:
        raise EventError(row.event_id, row.event_type, str(error)) from None


def _decoded(row: NotificationRow, text: str | bytes, decoder: Decoder) -> Event:
    fields = loads(text)
    type_ = MESSAGE_TYPES[row.event_type]
    message = msgspec.convert(fields, type_)
    common = {
        "event_id": row.event_id,
        "event_time": row.event_time,
        "event_type": row.event_type,
    }
    names = _names(type_)
    if not fields.keys() <= names:
        common["other"] = {name: fields[name] for name in fields.keys() - names}
    return decoder(row, message, common)


@cache
def _names(type_: type[Message]) -> frozenset[str]:
    return frozenset(field.encode_name for field in msgspec.structs.fields(type_)) | {
        # These fields repeat what the message's objects say, which are read themselves.
        "tableType",
    }


def _unknown(row: NotificationRow, text: str | bytes) -> OtherEvent:
    fields = loads(text) if text else {}
    return OtherEvent(
        event_id=row.event_id,
        event_time=row.event_time,
        event_type=row.event_type,
        other=fields if isinstance(fields, dict) else {"": fields},
        cat_name=row.cat_name,
        db_name=row.db_name,
        tbl_name=row.tbl_name,
        harmless=row.event_type in HARMLESS,
    )
