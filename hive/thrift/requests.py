"""The requests of a metastore's clients, with the field ids of Hive's IDL.

The newer calls take one struct; the older ones take their arguments one by one.
"""

from hive.thrift.types import (
    ListOf,
    Struct,
    Type,
    binary,
    boolean,
    i16,
    i32,
    i64,
    properties,
    string,
    strings,
)

_CAPABILITIES = Struct("ClientCapabilities", (1, "values", ListOf(i32)))
PROJECTION = Struct(
    "GetProjectionsSpec",
    (1, "fieldList", strings),
    (2, "includeParamKeyPattern", string),
    (3, "excludeParamKeyPattern", string),
)
FILTER = Struct("GetPartitionsFilterSpec", (7, "filterMode", i32), (8, "filters", strings))
ENVIRONMENT = Struct("EnvironmentContext", (1, "properties", properties))


def _trimming(first: int) -> tuple[tuple[int, str, Type], ...]:
    """The fields, from an id on, that say how partitions are trimmed."""
    return (
        (first, "skipColumnSchemaForPartition", boolean),
        (first + 1, "includeParamKeyPattern", string),
        (first + 2, "excludeParamKeyPattern", string),
    )


GET_TABLE = Struct(
    "GetTableRequest",
    (1, "dbName", string),
    (2, "tblName", string),
    (3, "capabilities", _CAPABILITIES),
    (4, "catName", string),
    (6, "validWriteIdList", string),
    (7, "getColumnStats", boolean),
    (8, "processorCapabilities", strings),
    (9, "processorIdentifier", string),
    (10, "engine", string),
    (11, "id", i64),
)
GET_TABLES = Struct(
    "GetTablesRequest",
    (1, "dbName", string),
    (2, "tblNames", strings),
    (3, "capabilities", _CAPABILITIES),
    (4, "catName", string),
    (5, "processorCapabilities", strings),
    (6, "processorIdentifier", string),
    (7, "projectionSpec", PROJECTION),
    (8, "tablesPattern", string),
)
GET_DATABASE = Struct(
    "GetDatabaseRequest",
    (1, "name", string),
    (2, "catalogName", string),
    (3, "processorCapabilities", strings),
    (4, "processorIdentifier", string),
)
GET_PARTITION = Struct(
    "GetPartitionRequest",
    (1, "catName", string),
    (2, "dbName", string),
    (3, "tblName", string),
    (4, "partVals", strings),
    (5, "validWriteIdList", string),
    (6, "id", i64),
)
GET_PARTITIONS = Struct(
    "PartitionsRequest",
    (1, "catName", string),
    (2, "dbName", string),
    (3, "tblName", string),
    (4, "maxParts", i16),
    (5, "validWriteIdList", string),
    (6, "id", i64),
    *_trimming(7),
)
NAMES_BY_VALUES = Struct(
    "GetPartitionNamesPsRequest",
    (1, "catName", string),
    (2, "dbName", string),
    (3, "tblName", string),
    (4, "partValues", strings),
    (5, "maxParts", i16),
    (6, "validWriteIdList", string),
    (7, "id", i64),
)
PARTITIONS_BY_VALUES = Struct(
    "GetPartitionsPsWithAuthRequest",
    (1, "catName", string),
    (2, "dbName", string),
    (3, "tblName", string),
    (4, "partVals", strings),
    (5, "maxParts", i16),
    (6, "userName", string),
    (7, "groupNames", strings),
    (8, "validWriteIdList", string),
    (9, "id", i64),
    *_trimming(10),
    (13, "partNames", strings),
)
PARTITIONS_BY_NAMES = Struct(
    "GetPartitionsByNamesRequest",
    (1, "db_name", string),
    (2, "tbl_name", string),
    (3, "names", strings),
    (4, "get_col_stats", boolean),
    (5, "processorCapabilities", strings),
    (6, "processorIdentifier", string),
    (7, "engine", string),
    (8, "validWriteIdList", string),
    (9, "getFileMetadata", boolean),
    (10, "id", i64),
    *_trimming(11),
)
PARTITIONS_BY_FILTER = Struct(
    "GetPartitionsByFilterRequest",
    (1, "catName", string),
    (2, "dbName", string),
    (3, "tblName", string),
    (4, "filter", string),
    (5, "maxParts", i16),
    *_trimming(6),
)
PARTITIONS_BY_EXPRESSION = Struct(
    "PartitionsByExprRequest",
    (1, "dbName", string),
    (2, "tblName", string),
    (3, "expr", binary),
    (4, "defaultPartitionName", string),
    (5, "maxParts", i16),
    (6, "catName", string),
    (7, "order", string),
    (8, "validWriteIdList", string),
    (9, "id", i64),
    *_trimming(10),
)
PARTITIONS_WITH_SPECS = Struct(
    "GetPartitionsRequest",
    (1, "catName", string),
    (2, "dbName", string),
    (3, "tblName", string),
    (4, "withAuth", boolean),
    (5, "user", string),
    (6, "groupNames", strings),
    (7, "projectionSpec", PROJECTION),
    (8, "filterSpec", FILTER),
    (9, "processorCapabilities", strings),
    (10, "processorIdentifier", string),
    (11, "validWriteIdList", string),
)


def _columns_of(name: str) -> Struct:
    return Struct(
        name,
        (1, "catName", string),
        (2, "dbName", string),
        (3, "tblName", string),
        (4, "envContext", ENVIRONMENT),
        (5, "validWriteIdList", string),
        (6, "id", i64),
    )


GET_FIELDS = _columns_of("GetFieldsRequest")
GET_SCHEMA = _columns_of("GetSchemaRequest")
TABLE_STATISTICS = Struct(
    "TableStatsRequest",
    (1, "dbName", string),
    (2, "tblName", string),
    (3, "colNames", strings),
    (4, "catName", string),
    (5, "validWriteIdList", string),
    (6, "engine", string),
    (7, "id", i64),
)
PARTITION_STATISTICS = Struct(
    "PartitionsStatsRequest",
    (1, "dbName", string),
    (2, "tblName", string),
    (3, "colNames", strings),
    (4, "partNames", strings),
    (5, "catName", string),
    (6, "validWriteIdList", string),
    (7, "engine", string),
)
PRIMARY_KEYS = Struct(
    "PrimaryKeysRequest",
    (1, "db_name", string),
    (2, "tbl_name", string),
    (3, "catName", string),
    (4, "validWriteIdList", string),
    (5, "tableId", i64),
)
FOREIGN_KEYS = Struct(
    "ForeignKeysRequest",
    (1, "parent_db_name", string),
    (2, "parent_tbl_name", string),
    (3, "foreign_db_name", string),
    (4, "foreign_tbl_name", string),
    (5, "catName", string),
    (6, "validWriteIdList", string),
    (7, "tableId", i64),
)


def _constraints(name: str) -> Struct:
    return Struct(
        name,
        (1, "catName", string),
        (2, "db_name", string),
        (3, "tbl_name", string),
        (4, "validWriteIdList", string),
        (5, "tableId", i64),
    )


UNIQUE_CONSTRAINTS = _constraints("UniqueConstraintsRequest")
NOT_NULL_CONSTRAINTS = _constraints("NotNullConstraintsRequest")
DEFAULT_CONSTRAINTS = _constraints("DefaultConstraintsRequest")
CHECK_CONSTRAINTS = _constraints("CheckConstraintsRequest")
ALL_CONSTRAINTS = Struct(
    "AllTableConstraintsRequest",
    (1, "dbName", string),
    (2, "tblName", string),
    (3, "catName", string),
    (4, "validWriteIdList", string),
    (5, "tableId", i64),
)
ROLE_GRANTS = Struct(
    "GetRoleGrantsForPrincipalRequest",
    (1, "principal_name", string),
    (2, "principal_type", i32),
)
PRINCIPALS_IN_ROLE = Struct("GetPrincipalsInRoleRequest", (1, "roleName", string))
VALID_WRITE_IDS = Struct(
    "GetValidWriteIdsRequest",
    (1, "fullTableNames", strings),
    (2, "validTxnList", string),
    (3, "writeId", i64),
)
OPEN_TXNS = Struct("GetOpenTxnsRequest", (1, "excludeTxnTypes", ListOf(i32)))
