"""Databases and functions."""

from typing import Any, NamedTuple

from hive.names import DatabaseName, default_catalog
from hive.reader.rows.details import DetailKind, Details
from hive.reader.rows.principals import principal_type
from hive.thrift.binary import encode
from hive.thrift.structs import DATABASE, FUNCTION

_NATIVE, _REMOTE = 1, 2


class DatabaseRow(NamedTuple):
    """A row of DBS; columns that a release lacks are null."""

    id: int
    catalog: str | None
    name: str
    description: str | None
    location: str | None
    owner: str | None
    owner_type: str | None
    created: int | None
    managed_location: str | None
    type: str | None
    connector: str | None
    remote_name: str | None


class StoredDatabase(NamedTuple):
    """A database as it is stored."""

    name: DatabaseName
    remote: bool
    """Whether its tables are in another metastore."""
    data: bytes


class FunctionRow(NamedTuple):
    """A row of FUNCS joined with DBS."""

    id: int
    catalog: str | None
    db: str
    name: str
    class_name: str | None
    owner: str | None
    owner_type: str | None
    created: int | None
    type: int | None


class StoredFunction(NamedTuple):
    """A function as it is stored."""

    db: str
    name: str
    data: bytes


def stored_database(row: tuple[Any, ...], details: Details) -> StoredDatabase:
    """The database of a row with the fields of `DatabaseRow`."""
    own = DatabaseRow(*row)
    managed = (own.managed_location or "").strip()
    remote = (own.type or "").upper() == "REMOTE"
    data = encode(
        DATABASE,
        {
            "name": own.name,
            "description": own.description,
            "locationUri": own.location,
            "parameters": details.parameters(DetailKind.DATABASE_PARAMETER, own.id),
            "ownerName": own.owner,
            "ownerType": principal_type(own.owner_type),
            "catalogName": own.catalog,
            "createTime": own.created,
            "managedLocationUri": own.managed_location if managed else None,
            "type": _REMOTE if remote else _NATIVE,
            "connector_name": own.connector if remote else None,
            "remote_dbname": own.remote_name if remote else None,
        },
    )
    name = DatabaseName((own.catalog or default_catalog()).lower(), own.name.lower())
    return StoredDatabase(name, remote, data)


def stored_function(row: tuple[Any, ...], details: Details) -> StoredFunction:
    """The function of a row with the fields of `FunctionRow`."""
    own = FunctionRow(*row)
    data = encode(
        FUNCTION,
        {
            "functionName": own.name,
            "dbName": own.db,
            "className": own.class_name,
            "ownerName": own.owner,
            "ownerType": principal_type(own.owner_type),
            "createTime": own.created,
            "functionType": own.type,
            "resourceUris": [
                {"resourceType": int(type_ or 0), "uri": uri}
                for _, _, _, type_, uri, _ in details.of(DetailKind.RESOURCE, own.id)
            ],
            "catName": own.catalog,
        },
    )
    return StoredFunction(own.db.lower(), own.name.strip().lower(), data)
