"""Tables and what belongs to them, with the field names of Hive's Thrift.

A field that the server leaves out, because it is unset in the metastore, is None.
"""

from __future__ import annotations

from metatide.client.hive_struct import HiveStruct
from metatide.client.statistics_objects import ColumnStatistics


class FieldSchema(HiveStruct, frozen=True):
    """A column, or a key of partitions."""

    name: str = ""
    type: str = ""
    comment: str | None = None


class Order(HiveStruct, frozen=True):
    """A column by which buckets are sorted: `order` is 1 if it ascends."""

    col: str | None = None
    order: int | None = None


class SerDeInfo(HiveStruct, frozen=True):
    """How rows are read and written."""

    name: str | None = None
    serializationLib: str | None = None
    parameters: dict[str, str] | None = None
    description: str | None = None
    serializerClass: str | None = None
    deserializerClass: str | None = None
    serdeType: int | None = None


class SkewedInfo(HiveStruct, frozen=True):
    """Values that have folders of their own."""

    skewedColNames: list[str] | None = None
    skewedColValues: list[list[str]] | None = None
    skewedColValueLocationMaps: dict[str, str] | None = None


class StorageDescriptor(HiveStruct, frozen=True):
    """Where and how the rows of a table or a partition lie."""

    cols: list[FieldSchema] | None = None
    location: str | None = None
    inputFormat: str | None = None
    outputFormat: str | None = None
    compressed: bool | None = None
    numBuckets: int | None = None
    serdeInfo: SerDeInfo | None = None
    bucketCols: list[str] | None = None
    sortCols: list[Order] | None = None
    parameters: dict[str, str] | None = None
    skewedInfo: SkewedInfo | None = None
    storedAsSubDirectories: bool | None = None


class PrivilegeGrantInfo(HiveStruct, frozen=True):
    """A privilege and who granted it."""

    privilege: str | None = None
    createTime: int | None = None
    grantor: str | None = None
    grantorType: int | None = None
    grantOption: bool | None = None


class PrincipalPrivilegeSet(HiveStruct, frozen=True):
    """Privileges by users, groups and roles."""

    userPrivileges: dict[str, list[PrivilegeGrantInfo]] | None = None
    groupPrivileges: dict[str, list[PrivilegeGrantInfo]] | None = None
    rolePrivileges: dict[str, list[PrivilegeGrantInfo]] | None = None


class FileMetadata(HiveStruct, frozen=True):
    """Metadata of files."""

    type: int | None = None
    version: int | None = None
    data: list[bytes] | None = None


class ObjectDictionary(HiveStruct, frozen=True):
    """Values that the objects of an answer share."""

    values: dict[str, list[bytes]] | None = None


class SourceTable(HiveStruct, frozen=True):
    """A table of a materialized view, with what changed since."""

    table: Table | None = None
    insertedCount: int | None = None
    updatedCount: int | None = None
    deletedCount: int | None = None


class CreationMetadata(HiveStruct, frozen=True):
    """What a materialized view was made from."""

    catName: str | None = None
    dbName: str | None = None
    tblName: str | None = None
    tablesUsed: list[str] | None = None
    validTxnList: str | None = None
    materializationTime: int | None = None
    sourceTables: list[SourceTable] | None = None


class Table(HiveStruct, frozen=True):
    """A table or a view."""

    tableName: str = ""
    dbName: str = ""
    owner: str | None = None
    createTime: int | None = None
    lastAccessTime: int | None = None
    retention: int | None = None
    sd: StorageDescriptor | None = None
    partitionKeys: list[FieldSchema] | None = None
    parameters: dict[str, str] | None = None
    viewOriginalText: str | None = None
    viewExpandedText: str | None = None
    tableType: str | None = None
    privileges: PrincipalPrivilegeSet | None = None
    temporary: bool | None = None
    rewriteEnabled: bool | None = None
    creationMetadata: CreationMetadata | None = None
    catName: str | None = None
    ownerType: int | None = None
    writeId: int | None = None
    isStatsCompliant: bool | None = None
    colStats: ColumnStatistics | None = None
    accessType: int | None = None
    requiredReadCapabilities: list[str] | None = None
    requiredWriteCapabilities: list[str] | None = None
    id: int | None = None
    fileMetadata: FileMetadata | None = None
    dictionary: ObjectDictionary | None = None
    txnId: int | None = None


class TableMeta(HiveStruct, frozen=True, kw_only=True):
    """A table as lists show it."""

    dbName: str | None = None
    tableName: str
    tableType: str
    ownerName: str
    comments: str | None


class Partition(HiveStruct, frozen=True):
    """A partition of a table."""

    values: list[str] | None = None
    dbName: str | None = None
    tableName: str | None = None
    createTime: int | None = None
    lastAccessTime: int | None = None
    sd: StorageDescriptor | None = None
    parameters: dict[str, str] | None = None
    privileges: PrincipalPrivilegeSet | None = None
    catName: str | None = None
    writeId: int | None = None
    isStatsCompliant: bool | None = None
    colStats: ColumnStatistics | None = None
    fileMetadata: FileMetadata | None = None


class Database(HiveStruct, frozen=True):
    """A database."""

    name: str = ""
    description: str | None = None
    locationUri: str | None = None
    parameters: dict[str, str] | None = None
    privileges: PrincipalPrivilegeSet | None = None
    ownerName: str | None = None
    ownerType: int | None = None
    catalogName: str | None = None
    createTime: int | None = None
    managedLocationUri: str | None = None
    type: int | None = None
    connector_name: str | None = None
    remote_dbname: str | None = None


class ResourceUri(HiveStruct, frozen=True):
    """A file that a function needs."""

    resourceType: int | None = None
    uri: str | None = None


class Function(HiveStruct, frozen=True):
    """A function that a database knows."""

    functionName: str = ""
    dbName: str = ""
    className: str | None = None
    ownerName: str | None = None
    ownerType: int | None = None
    createTime: int | None = None
    functionType: int | None = None
    resourceUris: list[ResourceUri] | None = None
    catName: str | None = None


class TableWriteIds(HiveStruct, frozen=True):
    """The write-id list and the id of a table."""

    fullTableName: str
    id: int | None
    validWriteIdList: str


class WriteIds(HiveStruct, frozen=True):
    """Write-id lists of tables, as of one moment."""

    validTxnList: str
    tables: list[TableWriteIds]
