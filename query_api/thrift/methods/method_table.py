"""The methods that the cache answers: their arguments, exceptions, and the reads behind them."""

from collections.abc import Callable
from functools import partial
from typing import Final, NamedTuple

from hive.thrift import requests
from hive.thrift.grants import HIVE_OBJECT_REF
from hive.thrift.types import Struct, Type, i16, i32, string, strings
from query_api.thrift.methods import (
    columns,
    constraints,
    databases,
    functions,
    grants,
    partition,
    partition_selections,
    partition_specs,
    statistics,
    table_metas,
    tables,
    transactions,
)
from query_api.thrift.methods.outcome import (
    BY_EXPRESSION,
    I32,
    LIST,
    LIST_IN,
    MAP_IN,
    STRUCT_ALONE,
    STRUCT_IN,
    Shape,
)
from query_api.thrift.methods.request import Arguments, Understood

_META, _NO_OBJECT = "MetaException", "NoSuchObjectException"
_META_FIRST: Final = (_META, _NO_OBJECT)
_META_LAST: Final = (_NO_OBJECT, _META)
_BY_NAMES: Final = (_META, _NO_OBJECT, "InvalidObjectException")
_COLUMNS: Final = (_META, "UnknownTableException", "UnknownDBException")
_TABLES: Final = (_META, "InvalidOperationException", "UnknownDBException")
_STATISTICS: Final = (_NO_OBJECT, _META, "InvalidInputException", "InvalidObjectException")


class Method(NamedTuple):
    """One method of the interface."""

    understand: Callable[[Arguments], Understood]
    shape: Shape
    exceptions: tuple[str, ...]
    """The exceptions that the method may raise, in the order of their field numbers from 1 on."""
    arguments: Struct


def _method(
    understand: Callable[[Arguments], Understood],
    shape: Shape,
    exceptions: tuple[str, ...],
    *arguments: tuple[str, Type],
) -> Method:
    fields = ((number, *argument) for number, argument in enumerate(arguments, 1))
    return Method(understand, shape, exceptions, Struct("arguments", *fields))


_TABLE: Final = (("db_name", string), ("tbl_name", string))
_MAX: Final = (("max_parts", i16),)
_VALUES: Final = (("part_vals", strings),)
_USER: Final = (("user_name", string), ("group_names", strings))


def methods(warehouse: str, open_txn_timeout_ms: int | None = None) -> dict[str, Method]:
    """All methods by name. `warehouse` is the metastore's warehouse for managed tables, and
    `open_txn_timeout_ms` the time for which it takes an id without a row for an open transaction;
    None if that is unknown.
    """
    database = partial(databases.get_database, warehouse=warehouse)
    database_req = partial(databases.get_database_req, warehouse=warehouse)
    return {
        "get_database": _method(database, STRUCT_ALONE, _META_LAST, ("name", string)),
        "get_database_req": _method(
            database_req, STRUCT_ALONE, _META_LAST, ("request", requests.GET_DATABASE)
        ),
        **_LISTS,
        **_TABLES_AND_COLUMNS,
        **_PARTITIONS,
        **_DETAILS,
        **_GRANTS,
        **_FUNCTIONS,
        **_transactions(open_txn_timeout_ms),
    }


def _transactions(timeout_ms: int | None) -> dict[str, Method]:
    open_txns, open_txns_req, open_txns_info, valid_write_ids = (
        partial(understand, timeout_ms=timeout_ms)
        for understand in (
            transactions.get_open_txns,
            transactions.get_open_txns_req,
            transactions.get_open_txns_info,
            transactions.get_valid_write_ids,
        )
    )
    return {
        "get_open_txns": _method(open_txns, STRUCT_ALONE, ()),
        "get_open_txns_req": _method(
            open_txns_req, STRUCT_ALONE, (), ("getOpenTxnsRequest", requests.OPEN_TXNS)
        ),
        "get_open_txns_info": _method(open_txns_info, STRUCT_ALONE, ()),
        "get_valid_write_ids": _method(
            valid_write_ids,
            LIST_IN,
            ("NoSuchTxnException", _META),
            ("rqst", requests.VALID_WRITE_IDS),
        ),
    }


_LISTS: Final = {
    "get_databases": _method(databases.get_databases, LIST, (_META,), ("pattern", string)),
    "get_all_databases": _method(databases.get_all_databases, LIST, (_META,)),
    "get_all_tables": _method(databases.get_all_tables, LIST, (_META,), ("db_name", string)),
    "get_tables": _method(
        databases.get_tables, LIST, (_META,), ("db_name", string), ("pattern", string)
    ),
    "get_tables_by_type": _method(
        databases.get_tables_by_type,
        LIST,
        (_META,),
        ("db_name", string),
        ("pattern", string),
        ("tableType", string),
    ),
    "get_table_meta": _method(
        table_metas.get_table_meta,
        LIST,
        (_META,),
        ("db_patterns", string),
        ("tbl_patterns", string),
        ("tbl_types", strings),
    ),
}
_TABLES_AND_COLUMNS: Final = {
    "get_table": _method(tables.get_table, STRUCT_ALONE, _META_FIRST, *_TABLE),
    "get_table_req": _method(
        tables.get_table_req, STRUCT_IN, _META_FIRST, ("req", requests.GET_TABLE)
    ),
    "get_table_objects_by_name": _method(
        tables.get_table_objects_by_name,
        LIST,
        _TABLES,
        ("db_name", string),
        ("tbl_names", strings),
    ),
    "get_table_objects_by_name_req": _method(
        tables.get_table_objects_by_name_req, LIST_IN, _TABLES, ("req", requests.GET_TABLES)
    ),
    "get_fields": _method(columns.get_fields, LIST, _COLUMNS, *_TABLE),
    "get_fields_with_environment_context": _method(
        columns.get_fields,
        LIST,
        _COLUMNS,
        *_TABLE,
        ("environment_context", requests.ENVIRONMENT),
    ),
    "get_fields_req": _method(
        columns.get_fields_req, LIST_IN, _COLUMNS, ("req", requests.GET_FIELDS)
    ),
    "get_schema": _method(columns.get_schema, LIST, _COLUMNS, *_TABLE),
    "get_schema_with_environment_context": _method(
        columns.get_schema,
        LIST,
        _COLUMNS,
        *_TABLE,
        ("environment_context", requests.ENVIRONMENT),
    ),
    "get_schema_req": _method(
        columns.get_schema_req, LIST_IN, _COLUMNS, ("req", requests.GET_SCHEMA)
    ),
}
_PARTITIONS: Final = {
    "get_partition": _method(partition.get_partition, STRUCT_ALONE, _META_FIRST, *_TABLE, *_VALUES),
    "get_partition_req": _method(
        partition.get_partition_req, STRUCT_IN, _META_FIRST, ("req", requests.GET_PARTITION)
    ),
    "get_partition_with_auth": _method(
        partition.get_partition_with_auth, STRUCT_ALONE, _META_FIRST, *_TABLE, *_VALUES, *_USER
    ),
    "get_partition_by_name": _method(
        partition.get_partition_by_name,
        STRUCT_ALONE,
        _META_FIRST,
        *_TABLE,
        ("part_name", string),
    ),
    "get_partitions": _method(
        partition_selections.get_partitions, LIST, _META_LAST, *_TABLE, *_MAX
    ),
    "get_partitions_req": _method(
        partition_selections.get_partitions_req,
        LIST_IN,
        _META_LAST,
        ("req", requests.GET_PARTITIONS),
    ),
    "get_partitions_with_auth": _method(
        partition_selections.get_partitions_with_auth, LIST, _META_LAST, *_TABLE, *_MAX, *_USER
    ),
    "get_partition_names": _method(
        partition_selections.get_partition_names, LIST, _META_LAST, *_TABLE, *_MAX
    ),
    "fetch_partition_names_req": _method(
        partition_selections.fetch_partition_names_req,
        LIST,
        _META_LAST,
        ("req", requests.GET_PARTITIONS),
    ),
    "get_partition_names_req": _method(
        partition_selections.get_partition_names_req,
        LIST,
        _META_FIRST,
        ("req", requests.PARTITIONS_BY_EXPRESSION),
    ),
    "get_partition_names_ps": _method(
        partition_selections.get_partition_names_ps, LIST, _META_FIRST, *_TABLE, *_VALUES, *_MAX
    ),
    "get_partition_names_ps_req": _method(
        partition_selections.get_partition_names_ps_req,
        LIST_IN,
        _META_FIRST,
        ("req", requests.NAMES_BY_VALUES),
    ),
    "get_partitions_ps": _method(
        partition_selections.get_partitions_ps, LIST, _META_FIRST, *_TABLE, *_VALUES, *_MAX
    ),
    "get_partitions_ps_with_auth": _method(
        partition_selections.get_partitions_ps_with_auth,
        LIST,
        _META_LAST,
        *_TABLE,
        *_VALUES,
        *_MAX,
        *_USER,
    ),
    "get_partitions_ps_with_auth_req": _method(
        partition_selections.get_partitions_ps_with_auth_req,
        LIST_IN,
        _META_FIRST,
        ("req", requests.PARTITIONS_BY_VALUES),
    ),
    "get_partitions_by_names": _method(
        partition_selections.get_partitions_by_names, LIST, _BY_NAMES, *_TABLE, ("names", strings)
    ),
    "get_partitions_by_names_req": _method(
        partition_selections.get_partitions_by_names_req,
        LIST_IN,
        _BY_NAMES,
        ("req", requests.PARTITIONS_BY_NAMES),
    ),
    "get_partitions_by_filter": _method(
        partition_selections.get_partitions_by_filter,
        LIST,
        _META_FIRST,
        *_TABLE,
        ("filter", string),
        *_MAX,
    ),
    "get_partitions_by_filter_req": _method(
        partition_selections.get_partitions_by_filter_req,
        LIST,
        _META_FIRST,
        ("req", requests.PARTITIONS_BY_FILTER),
    ),
    "get_num_partitions_by_filter": _method(
        partition_selections.get_num_partitions_by_filter,
        I32,
        _META_FIRST,
        *_TABLE,
        ("filter", string),
    ),
    "get_partitions_by_expr": _method(
        partition_selections.get_partitions_by_expr,
        BY_EXPRESSION,
        _META_FIRST,
        ("req", requests.PARTITIONS_BY_EXPRESSION),
    ),
    "get_partitions_spec_by_expr": _method(
        partition_selections.get_partitions_spec_by_expr,
        BY_EXPRESSION,
        _META_FIRST,
        ("req", requests.PARTITIONS_BY_EXPRESSION),
    ),
    "get_partitions_with_specs": _method(
        partition_specs.get_partitions_with_specs,
        LIST_IN,
        (_META,),
        ("request", requests.PARTITIONS_WITH_SPECS),
    ),
}
_DETAILS: Final = {
    "get_table_statistics_req": _method(
        statistics.get_table_statistics_req,
        LIST_IN,
        _META_LAST,
        ("request", requests.TABLE_STATISTICS),
    ),
    "get_partitions_statistics_req": _method(
        statistics.get_partitions_statistics_req,
        MAP_IN,
        _META_LAST,
        ("request", requests.PARTITION_STATISTICS),
    ),
    "get_aggr_stats_for": _method(
        statistics.get_aggr_stats_for,
        STRUCT_ALONE,
        _META_LAST,
        ("request", requests.PARTITION_STATISTICS),
    ),
    "get_table_column_statistics": _method(
        statistics.get_table_column_statistics,
        STRUCT_ALONE,
        _STATISTICS,
        *_TABLE,
        ("col_name", string),
    ),
    "get_partition_column_statistics": _method(
        statistics.get_partition_column_statistics,
        STRUCT_ALONE,
        _STATISTICS,
        *_TABLE,
        ("part_name", string),
        ("col_name", string),
    ),
    **{
        name: _method(understand, LIST_IN, _META_FIRST, ("request", request))
        for name, understand, request in (
            ("get_primary_keys", constraints.get_primary_keys, requests.PRIMARY_KEYS),
            ("get_foreign_keys", constraints.get_foreign_keys, requests.FOREIGN_KEYS),
            (
                "get_unique_constraints",
                constraints.get_unique_constraints,
                requests.UNIQUE_CONSTRAINTS,
            ),
            (
                "get_not_null_constraints",
                constraints.get_not_null_constraints,
                requests.NOT_NULL_CONSTRAINTS,
            ),
            (
                "get_default_constraints",
                constraints.get_default_constraints,
                requests.DEFAULT_CONSTRAINTS,
            ),
            (
                "get_check_constraints",
                constraints.get_check_constraints,
                requests.CHECK_CONSTRAINTS,
            ),
        )
    },
    "get_all_table_constraints": _method(
        constraints.get_all_table_constraints,
        STRUCT_IN,
        _META_FIRST,
        ("request", requests.ALL_CONSTRAINTS),
    ),
}
_GRANTS: Final = {
    "list_privileges": _method(
        grants.list_privileges,
        LIST,
        (_META,),
        ("principal_name", string),
        ("principal_type", i32),
        ("hiveObject", HIVE_OBJECT_REF),
    ),
    "get_role_names": _method(grants.get_role_names, LIST, (_META,)),
    "get_role_grants_for_principal": _method(
        grants.get_role_grants_for_principal,
        LIST_IN,
        (_META,),
        ("request", requests.ROLE_GRANTS),
    ),
    "get_principals_in_role": _method(
        grants.get_principals_in_role,
        LIST_IN,
        (_META,),
        ("request", requests.PRINCIPALS_IN_ROLE),
    ),
}
_FUNCTIONS: Final = {
    "get_functions": _method(
        functions.get_functions, LIST, (_META,), ("dbName", string), ("pattern", string)
    ),
    "get_function": _method(
        functions.get_function,
        STRUCT_ALONE,
        _META_FIRST,
        ("dbName", string),
        ("funcName", string),
    ),
    "get_all_functions": _method(functions.get_all_functions, LIST_IN, (_META,)),
}
