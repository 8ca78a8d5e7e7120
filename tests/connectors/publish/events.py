"""Events about tables, and about transactions that write to them."""

from typing import Any

from hive.events import event_types
from hive.names import TableName

ID = 7
LISTED = event_types.ListedFields("", None, None, 1)


def image(table_id: int) -> event_types.TableImage:
    return event_types.TableImage(b"table", table_id, False, (), LISTED)


def rename(
    event_id: int, old: TableName, new: TableName, table_id: int = ID
) -> event_types.AlterTable:
    return alter(event_id, new, table_id, before=old)


def alter(
    event_id: int, table: TableName, table_id: int = ID, *, before: TableName | None = None
) -> event_types.AlterTable:
    return event_types.AlterTable(
        **_head(event_id, "ALTER_TABLE"),
        table=table,
        before=before or table,
        before_data=b"",
        image=image(table_id),
        write_id=-1,
        truncate=False,
        columns_changed=False,
        location_changed=False,
        partition_keys_changed=False,
        listed_before=LISTED,
        listed_changed=True,
        known=True,
    )


def drop(event_id: int, table: TableName, table_id: int = ID) -> event_types.DropTable:
    return event_types.DropTable(
        table=table, id=table_id, transactional=False, **_head(event_id, "DROP_TABLE")
    )


def drop_constraint(event_id: int, table: TableName) -> event_types.DropConstraint:
    return event_types.DropConstraint(
        table=table, constraint="pk", **_head(event_id, "DROP_CONSTRAINT")
    )


def opened(event_id: int, first: int, last: int) -> event_types.OpenTransactions:
    return event_types.OpenTransactions(ranges=((first, last),), **_head(event_id, "OPEN_TXN"))


def allocated(event_id: int, txn: int, table: TableName) -> event_types.AllocateWriteIds:
    head = _head(event_id, "ALLOC_WRITE_ID_EVENT")
    return event_types.AllocateWriteIds(table=table, pairs=((txn, 1),), **head)


def committed(event_id: int, txn: int) -> event_types.CommitTransaction:
    return event_types.CommitTransaction(txn=txn, write_ids=None, **_head(event_id, "COMMIT_TXN"))


def aborted(event_id: int, txn: int) -> event_types.AbortTransaction:
    head = _head(event_id, "ABORT_TXN")
    return event_types.AbortTransaction(txn=txn, databases=(), write_ids=None, **head)


def unknown(event_id: int, *, harmless: bool) -> event_types.OtherEvent:
    head = _head(event_id, "NEW")
    return event_types.OtherEvent(
        cat_name=None, db_name=None, tbl_name=None, harmless=harmless, **head
    )


def _head(event_id: int, event_type: str) -> dict[str, Any]:
    return {"event_id": event_id, "event_time": 0, "event_type": event_type}
