"""The objects of the metastore, with the field ids of Hive's IDL."""

from hive.thrift.constraints import (
    ALL_TABLE_CONSTRAINTS,
    CHECK_CONSTRAINT,
    DEFAULT_CONSTRAINT,
    FOREIGN_KEY,
    NOT_NULL_CONSTRAINT,
    PRIMARY_KEY,
    UNIQUE_CONSTRAINT,
)
from hive.thrift.grants import (
    HIVE_OBJECT_PRIVILEGE,
    HIVE_OBJECT_REF,
    PRINCIPAL_PRIVILEGE_SET,
    PRIVILEGE_GRANT_INFO,
    ROLE_PRINCIPAL_GRANT,
)
from hive.thrift.statistics import (
    AGGR_STATS,
    COLUMN_STATISTICS,
    COLUMN_STATISTICS_DATA,
    COLUMN_STATISTICS_DESC,
    COLUMN_STATISTICS_OBJ,
    PARTITIONS_STATS_RESULT,
    TABLE_STATS_RESULT,
)
from hive.thrift.transactions import (
    OPEN_TXNS,
    OPEN_TXNS_INFO,
    TABLE_VALID_WRITE_IDS,
    TXN_INFO,
)
from hive.thrift.types import (
    ListOf,
    MapOf,
    SetOf,
    Struct,
    binary,
    boolean,
    byte,
    i32,
    i64,
    properties,
    string,
    strings,
)

__all__ = [
    "AGGR_STATS",
    "ALL_TABLE_CONSTRAINTS",
    "CATALOG",
    "CHECK_CONSTRAINT",
    "COLUMN_STATISTICS",
    "COLUMN_STATISTICS_DATA",
    "COLUMN_STATISTICS_DESC",
    "COLUMN_STATISTICS_OBJ",
    "CREATION_METADATA",
    "DATABASE",
    "DEFAULT_CONSTRAINT",
    "FIELD_SCHEMA",
    "FILE_METADATA",
    "FOREIGN_KEY",
    "FUNCTION",
    "HIVE_OBJECT_PRIVILEGE",
    "HIVE_OBJECT_REF",
    "NOTIFICATION_EVENT",
    "NOT_NULL_CONSTRAINT",
    "OBJECT_DICTIONARY",
    "OPEN_TXNS",
    "OPEN_TXNS_INFO",
    "ORDER",
    "PARTITION",
    "PARTITIONS_STATS_RESULT",
    "PRIMARY_KEY",
    "PRINCIPAL_PRIVILEGE_SET",
    "PRIVILEGE_GRANT_INFO",
    "RESOURCE_URI",
    "ROLE_PRINCIPAL_GRANT",
    "SERDE_INFO",
    "SKEWED_INFO",
    "SOURCE_TABLE",
    "STORAGE_DESCRIPTOR",
    "TABLE",
    "TABLE_STATS_RESULT",
    "TABLE_VALID_WRITE_IDS",
    "TXN_INFO",
    "UNIQUE_CONSTRAINT",
]

CATALOG = Struct(
    "Catalog",
    (1, "name", string),
    (2, "description", string),
    (3, "locationUri", string),
    (4, "createTime", i32),
)
DATABASE = Struct(
    "Database",
    (1, "name", string),
    (2, "description", string),
    (3, "locationUri", string),
    (4, "parameters", properties),
    (5, "privileges", PRINCIPAL_PRIVILEGE_SET),
    (6, "ownerName", string),
    (7, "ownerType", i32),
    (8, "catalogName", string),
    (9, "createTime", i32),
    (10, "managedLocationUri", string),
    (11, "type", i32),
    (12, "connector_name", string),
    (13, "remote_dbname", string),
)
RESOURCE_URI = Struct("ResourceUri", (1, "resourceType", i32), (2, "uri", string))
FUNCTION = Struct(
    "Function",
    (1, "functionName", string),
    (2, "dbName", string),
    (3, "className", string),
    (4, "ownerName", string),
    (5, "ownerType", i32),
    (6, "createTime", i32),
    (7, "functionType", i32),
    (8, "resourceUris", ListOf(RESOURCE_URI)),
    (9, "catName", string),
)
FIELD_SCHEMA = Struct(
    "FieldSchema", (1, "name", string), (2, "type", string), (3, "comment", string)
)
SERDE_INFO = Struct(
    "SerDeInfo",
    (1, "name", string),
    (2, "serializationLib", string),
    (3, "parameters", properties),
    (4, "description", string),
    (5, "serializerClass", string),
    (6, "deserializerClass", string),
    (7, "serdeType", i32),
)
ORDER = Struct("Order", (1, "col", string), (2, "order", i32))
SKEWED_INFO = Struct(
    "SkewedInfo",
    (1, "skewedColNames", strings),
    (2, "skewedColValues", ListOf(strings)),
    (3, "skewedColValueLocationMaps", MapOf(strings, string)),
)
STORAGE_DESCRIPTOR = Struct(
    "StorageDescriptor",
    (1, "cols", ListOf(FIELD_SCHEMA)),
    (2, "location", string),
    (3, "inputFormat", string),
    (4, "outputFormat", string),
    (5, "compressed", boolean),
    (6, "numBuckets", i32),
    (7, "serdeInfo", SERDE_INFO),
    (8, "bucketCols", strings),
    (9, "sortCols", ListOf(ORDER)),
    (10, "parameters", properties),
    (11, "skewedInfo", SKEWED_INFO),
    (12, "storedAsSubDirectories", boolean),
)
FILE_METADATA = Struct(
    "FileMetadata", (1, "type", byte), (2, "version", byte), (3, "data", ListOf(binary))
)
OBJECT_DICTIONARY = Struct("ObjectDictionary", (1, "values", MapOf(string, ListOf(binary))))

TABLE = Struct("Table")
SOURCE_TABLE = Struct(
    "SourceTable",
    (1, "table", TABLE),
    (2, "insertedCount", i64),
    (3, "updatedCount", i64),
    (4, "deletedCount", i64),
)
CREATION_METADATA = Struct(
    "CreationMetadata",
    (1, "catName", string),
    (2, "dbName", string),
    (3, "tblName", string),
    (4, "tablesUsed", SetOf(string)),
    (5, "validTxnList", string),
    (6, "materializationTime", i64),
    (7, "sourceTables", ListOf(SOURCE_TABLE)),
)
TABLE.define(
    [
        (1, "tableName", string),
        (2, "dbName", string),
        (3, "owner", string),
        (4, "createTime", i32),
        (5, "lastAccessTime", i32),
        (6, "retention", i32),
        (7, "sd", STORAGE_DESCRIPTOR),
        (8, "partitionKeys", ListOf(FIELD_SCHEMA)),
        (9, "parameters", properties),
        (10, "viewOriginalText", string),
        (11, "viewExpandedText", string),
        (12, "tableType", string),
        (13, "privileges", PRINCIPAL_PRIVILEGE_SET),
        (14, "temporary", boolean),
        (15, "rewriteEnabled", boolean),
        (16, "creationMetadata", CREATION_METADATA),
        (17, "catName", string),
        (18, "ownerType", i32),
        (19, "writeId", i64),
        (20, "isStatsCompliant", boolean),
        (21, "colStats", COLUMN_STATISTICS),
        (22, "accessType", byte),
        (23, "requiredReadCapabilities", strings),
        (24, "requiredWriteCapabilities", strings),
        (25, "id", i64),
        (26, "fileMetadata", FILE_METADATA),
        (27, "dictionary", OBJECT_DICTIONARY),
        (28, "txnId", i64),
    ]
)
PARTITION = Struct(
    "Partition",
    (1, "values", strings),
    (2, "dbName", string),
    (3, "tableName", string),
    (4, "createTime", i32),
    (5, "lastAccessTime", i32),
    (6, "sd", STORAGE_DESCRIPTOR),
    (7, "parameters", properties),
    (8, "privileges", PRINCIPAL_PRIVILEGE_SET),
    (9, "catName", string),
    (10, "writeId", i64),
    (11, "isStatsCompliant", boolean),
    (12, "colStats", COLUMN_STATISTICS),
    (13, "fileMetadata", FILE_METADATA),
)
NOTIFICATION_EVENT = Struct(
    "NotificationEvent",
    (1, "eventId", i64),
    (2, "eventTime", i32),
    (3, "eventType", string),
    (4, "dbName", string),
    (5, "tableName", string),
    (6, "message", string),
    (7, "messageFormat", string),
    (8, "catName", string),
)
