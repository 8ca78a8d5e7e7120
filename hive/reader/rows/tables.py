"""Tables, and their lines in lists of tables."""

from typing import Any, NamedTuple

from hive.names import TableName, table_name
from hive.reader.rows.details import DetailKind, Details
from hive.reader.rows.flags import flag
from hive.reader.rows.principals import principal_type
from hive.reader.rows.storage import StorageRow, columns, storage
from hive.thrift.binary import encode
from hive.thrift.canonical import USER, is_transactional
from hive.thrift.structs import TABLE


class TableRow(NamedTuple):
    """A row of TBLS joined with DBS; the fields of `StorageRow` follow."""

    id: int
    catalog: str | None
    db: str
    name: str
    type: str | None
    owner: str | None
    owner_type: str | None
    created: int | None
    accessed: int | None
    retention: int | None
    view_text: str | None
    view_expanded_text: str | None
    rewritten: object
    write_id: int | None


class StoredTable(NamedTuple):
    """A table as the database holds it."""

    name: TableName
    id: int
    write_id: int
    transactional: bool
    partition_keys: tuple[str, ...]
    data: bytes


class StoredName(NamedTuple):
    """One line in a list of tables."""

    table: str
    type: str
    owner: str | None
    comment: str | None
    owner_type: int


def stored_table(row: tuple[Any, ...], details: Details) -> StoredTable:
    """The table of a row with its details, without the creation metadata of a materialized view."""
    own = TableRow(*row[: len(TableRow._fields)])
    parameters = details.parameters(DetailKind.TABLE_PARAMETER, own.id)
    keys = columns(details, DetailKind.PARTITION_KEY, own.id)
    data = encode(
        TABLE,
        {
            "tableName": own.name,
            "dbName": own.db,
            "owner": own.owner,
            "createTime": own.created,
            "lastAccessTime": own.accessed,
            "retention": own.retention,
            "sd": storage(StorageRow(*row[len(TableRow._fields) :]), details),
            "partitionKeys": keys,
            "parameters": parameters,
            "viewOriginalText": own.view_text,
            "viewExpandedText": own.view_expanded_text,
            "tableType": own.type or None,
            "rewriteEnabled": flag(own.rewritten),
            "catName": own.catalog,
            "ownerType": principal_type(own.owner_type),
            "writeId": own.write_id or 0,
            "id": own.id,
        },
    )
    return StoredTable(
        table_name(own.catalog, own.db, own.name),
        own.id,
        own.write_id or 0,
        is_transactional(parameters),
        tuple(key["name"].lower() for key in keys),
        data,
    )


def stored_name(
    name: str, type_: str | None, owner: str | None, comment: str | None, owner_type: str | None
) -> StoredName:
    """The line of a table in a list of tables, from columns of its row."""
    return StoredName(name.lower(), type_ or "", owner, comment, principal_type(owner_type) or USER)
