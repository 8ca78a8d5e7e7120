"""Objects as Thrift structs, as the metastore shows them in each kind of message."""

from typing import Any

from metatide.demo.objects import Database, Field, Partition, Storage, Table, TableKind

CATALOG = "hive"
OWNER = "hive"
USER = 1
"""PrincipalType.USER."""

Struct = dict[str, Any]


def field_struct(column: Field) -> Struct:
    """A FieldSchema."""
    return {"name": column.name, "type": column.type, "comment": column.comment}


def database_struct(database: Database, *, created: bool = False) -> Struct:
    """A Database; the message of its creation lacks the owner's type, because clients omit it."""
    struct: Struct = {
        "name": database.name,
        "description": database.description,
        "locationUri": database.location,
        "parameters": dict(database.parameters),
        "ownerName": OWNER,
        "catalogName": CATALOG,
        "createTime": database.create_time,
        "managedLocationUri": database.managed_location,
        "type": 1,
    }
    if not created:
        struct["ownerType"] = USER
    return struct


def storage_struct(storage: Storage) -> Struct:
    """A StorageDescriptor."""
    struct: Struct = {
        "cols": [field_struct(column) for column in storage.columns.fields],
        "inputFormat": storage.format.input,
        "outputFormat": storage.format.output,
        "compressed": False,
        "numBuckets": storage.buckets,
        "serdeInfo": {
            "name": "",
            "serializationLib": storage.format.serde,
            "parameters": dict(storage.serde_parameters),
        },
        "bucketCols": list(storage.bucket_columns),
        "sortCols": [],
        "parameters": {},
        "skewedInfo": {
            "skewedColNames": [],
            "skewedColValues": [],
            "skewedColValueLocationMaps": {},
        },
        "storedAsSubDirectories": False,
    }
    if storage.location is not None:
        struct["location"] = storage.location
    return struct


def stored_table(table: Table) -> Struct:
    """A Table as the metastore reads it from its database."""
    struct: Struct = {
        "tableName": table.name,
        "dbName": table.database.name,
        "owner": OWNER,
        "createTime": table.create_time,
        "lastAccessTime": 0,
        "retention": 0,
        "sd": storage_struct(table.storage),
        "partitionKeys": [field_struct(key) for key in table.keys],
        "parameters": dict(table.parameters),
        "tableType": table.kind.table_type,
        "rewriteEnabled": False,
        "catName": CATALOG,
        "ownerType": USER,
        "writeId": table.write_id,
        "id": table.id,
    }
    if table.kind is TableKind.VIEW:
        struct["viewOriginalText"] = struct["viewExpandedText"] = table.view_text
    return struct


def created_table(table: Table, txn_id: int | None) -> Struct:
    """A Table as the client that creates it sends it, with its assigned id."""
    struct = stored_table(table)
    del struct["rewriteEnabled"]
    struct["temporary"] = False
    if txn_id is None:
        struct["writeId"] = -1
    else:
        struct["txnId"] = txn_id
    return struct


def altered_table(table: Table) -> Struct:
    """A Table as a client sends it back after changing it."""
    return stored_table(table) | {"temporary": False, "accessType": 8}


def partition_struct(table: Table, partition: Partition, write_id: int) -> Struct:
    """A Partition, with the write id that is in the message."""
    return {
        "values": list(partition.values),
        "dbName": table.database.name,
        "tableName": table.name,
        "createTime": partition.create_time,
        "lastAccessTime": 0,
        "sd": storage_struct(partition.storage),
        "parameters": dict(partition.parameters),
        "catName": CATALOG,
        "writeId": write_id,
    }


def stored_partition(table: Table, partition: Partition) -> Struct:
    """A Partition as the metastore reads it from its database."""
    return partition_struct(table, partition, partition.write_id or -1)
