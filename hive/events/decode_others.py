"""Decodes the messages about databases, functions, transactions and catalogs."""

from hive.errors import ThriftError
from hive.events import message_types, object_fields, objects, stored_objects
from hive.events.decode_tables import Common, named
from hive.events.event_types import (
    AbortTransaction,
    AcidWrite,
    AllocateWriteIds,
    AlterDatabase,
    CatalogEvent,
    CommitCompaction,
    CommitTransaction,
    CreateDatabase,
    CreateFunction,
    DropDatabase,
    DropFunction,
    OpenTransactions,
)
from hive.events.row import NotificationRow
from hive.names import default_catalog
from hive.thrift.structs import CATALOG, DATABASE, FUNCTION
from hive.thrift.tjson import loads, transcode, transcode_value


def _catalog(row: NotificationRow, of_object: str | None = None) -> str:
    return (of_object or row.cat_name or default_catalog()).lower()


def create_database(
    row: NotificationRow, message: message_types.DatabaseMessage, common: Common
) -> CreateDatabase:
    value = loads(message.db_json)
    return CreateDatabase(
        **common,
        catalog=_catalog(row, objects.text_of(value, "8")),
        db=message.db.lower(),
        data=transcode_value(DATABASE, stored_objects.created_database(value)),
    )


def alter_database(
    row: NotificationRow, message: message_types.AlterDatabaseMessage, common: Common
) -> AlterDatabase:
    before, after = loads(message.db_obj_before_json), loads(message.db_obj_after_json)
    return AlterDatabase(
        **common,
        catalog=_catalog(row, objects.text_of(before, "8")),
        db=message.db.lower(),
        before_data=transcode_value(DATABASE, before),
        data=transcode_value(DATABASE, stored_objects.altered_database(before, after)),
    )


def drop_database(
    row: NotificationRow, message: message_types.DatabaseMessage, common: Common
) -> DropDatabase:
    return DropDatabase(**common, catalog=_catalog(row), db=message.db.lower())


def create_function(
    row: NotificationRow, message: message_types.CreateFunctionMessage, common: Common
) -> CreateFunction:
    value = loads(message.function_obj_json)
    catalog = _catalog(row, objects.text_of(value, "9"))
    # Hive's event leaves the catalog out of the object.
    value.setdefault("9", {"str": catalog})
    return CreateFunction(
        **common,
        catalog=catalog,
        db=message.db.lower(),
        function=str(value["1"]["str"]).strip().lower(),
        data=transcode_value(FUNCTION, value),
    )


def drop_function(
    row: NotificationRow, message: message_types.DropFunctionMessage, common: Common
) -> DropFunction:
    name = message.function_name.strip().lower()
    return DropFunction(**common, catalog=_catalog(row), db=message.db.lower(), function=name)


def open_transactions(
    _row: NotificationRow, message: message_types.OpenTxnMessage, common: Common
) -> OpenTransactions:
    """Decodes OPEN_TXN."""
    if message.from_txn_id is not None and message.to_txn_id is not None:
        if message.from_txn_id > message.to_txn_id:
            raise ThriftError(f"transactions {message.from_txn_id} to {message.to_txn_id}")
        ranges: tuple[tuple[int, int], ...] = ((message.from_txn_id, message.to_txn_id),)
    elif message.txn_ids is not None:
        ranges = tuple((txn, txn) for txn in message.txn_ids)
    else:
        raise ThriftError("neither a range nor a list of transactions")
    return OpenTransactions(**common, ranges=ranges)


def commit_transaction(
    _row: NotificationRow, message: message_types.CommitTxnMessage, common: Common
) -> CommitTransaction:
    """Decodes COMMIT_TXN."""
    pairs = None
    if message.write_ids is not None and message.databases is not None:
        databases = (db.lower() for db in message.databases)
        pairs = tuple(zip(databases, message.write_ids, strict=True))
    return CommitTransaction(**common, txn=message.txnid, write_ids=pairs)


def abort_transaction(
    _row: NotificationRow, message: message_types.AbortTxnMessage, common: Common
) -> AbortTransaction:
    """Decodes ABORT_TXN."""
    return AbortTransaction(
        **common,
        txn=message.txnid,
        databases=tuple(db.lower() for db in message.dbs_updated or ()),
        write_ids=None if message.write_ids is None else tuple(message.write_ids),
    )


def allocate_write_ids(
    row: NotificationRow, message: message_types.AllocWriteIdMessage, common: Common
) -> AllocateWriteIds:
    """Decodes ALLOC_WRITE_ID_EVENT."""
    pairs = zip(message.txn_id_list, message.write_id_list, strict=True)
    table = named(row, message.db_name, message.table_name)
    return AllocateWriteIds(**common, table=table, pairs=tuple(pairs))


def commit_compaction(
    row: NotificationRow, message: message_types.CommitCompactionMessage, common: Common
) -> CommitCompaction:
    return CommitCompaction(
        **common,
        table=named(row, message.dbname, message.table_name),
        txn=message.txnid,
        partition=message.part_name,
    )


def acid_write(
    row: NotificationRow, message: message_types.AcidWriteMessage, common: Common
) -> AcidWrite:
    """Decodes ACID_WRITE_EVENT."""
    return AcidWrite(
        **common,
        table=named(row, message.database, message.table),
        txn=message.txnid,
        write_id=object_fields.given_write_id(message.write_id),
        partition=message.partition or None,
    )


def catalog(
    _row: NotificationRow, message: message_types.CatalogMessage, common: Common
) -> CatalogEvent:
    """Decodes CREATE_CATALOG and DROP_CATALOG."""
    return CatalogEvent(**common, catalog=message.catalog.lower(), data=None)


def alter_catalog(
    _row: NotificationRow, message: message_types.AlterCatalogMessage, common: Common
) -> CatalogEvent:
    """Decodes ALTER_CATALOG."""
    before = loads(message.cat_obj_before_json)
    data = transcode(CATALOG, message.cat_obj_after_json)
    return CatalogEvent(**common, catalog=str(before["1"]["str"]).lower(), data=data)
