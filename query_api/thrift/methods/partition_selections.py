"""Calls that give several partitions, each with its own way to select them."""

from typing import Final

from hive.errors import InputError
from hive.filters.parser import parse_filter
from hive.names import DEFAULT_PARTITION, TableName
from query_api.reads.partitions import PartitionSelection
from query_api.reads.statistics import DEFAULT_ENGINE
from query_api.thrift.call import RelayReason
from query_api.thrift.methods import names
from query_api.thrift.methods.outcome import Raised, structs, table_not_found, texts
from query_api.thrift.methods.partitions import Of, Partitions
from query_api.thrift.methods.request import (
    Arguments,
    CacheRequest,
    Understood,
    limit,
    of_request,
    refuse_set,
    refuse_unknown,
)

_NO_OBJECTS: Final = structs([])
_NO_NAMES: Final = texts([])
_PATTERNS: Final = ("includeParamKeyPattern", "excludeParamKeyPattern")
_EVERYTHING: Final = b"\xff"
"""The byte that Hive sends in place of an expression that matches everything."""


def get_partitions(arguments: Arguments) -> Understood:
    refuse_unknown(arguments)
    return CacheRequest(
        Partitions(names.table(arguments), missing=_NO_OBJECTS, most=limit(arguments))
    )


def get_partitions_req(arguments: Arguments) -> Understood:
    request = arguments["req"]
    refuse_unknown(request, *_PATTERNS)
    table = names.table_in_catalog(request)
    read = Partitions(
        table,
        missing=_NO_OBJECTS,
        most=limit(request, "maxParts"),
        without_columns=request.get("skipColumnSchemaForPartition", False),
    )
    return of_request(read, request, table)


def get_partitions_with_auth(arguments: Arguments) -> Understood:
    refuse_unknown(arguments)
    table = names.table(arguments)
    return CacheRequest(
        Partitions(
            table, missing=table_not_found(table), most=limit(arguments), with_privileges=True
        )
    )


def get_partition_names(arguments: Arguments) -> Understood:
    refuse_unknown(arguments)
    table, most = names.table(arguments), limit(arguments)
    return CacheRequest(Partitions(table, missing=_NO_NAMES, most=most, of_each=Of.NAMES))


def fetch_partition_names_req(arguments: Arguments) -> Understood:
    request = arguments["req"]
    refuse_unknown(request, *_PATTERNS)
    _check_catalog(request)
    table, most = names.table_in_catalog(request), limit(request, "maxParts")
    read = Partitions(table, missing=_NO_NAMES, most=most, of_each=Of.NAMES)
    return of_request(read, request, table)


def get_partition_names_req(arguments: Arguments) -> Understood:
    """The names of the partitions that match an expression."""
    return _by_expression(arguments, Of.NAMES)


def get_partition_names_ps(arguments: Arguments) -> Understood:
    refuse_unknown(arguments)
    return CacheRequest(
        _names_by_values(names.table(arguments), arguments.get("part_vals"), limit(arguments))
    )


def get_partition_names_ps_req(arguments: Arguments) -> Understood:
    request = arguments["req"]
    refuse_unknown(request)
    table, most = names.table_in_catalog(request), limit(request, "maxParts")
    return of_request(_names_by_values(table, request.get("partValues"), most), request, table)


def get_partitions_ps(arguments: Arguments) -> Understood:
    return _partitions_ps(arguments, with_privileges=False)


def get_partitions_ps_with_auth(arguments: Arguments) -> Understood:
    return _partitions_ps(arguments, with_privileges=True)


def _partitions_ps(arguments: Arguments, *, with_privileges: bool) -> Understood:
    refuse_unknown(arguments)
    table, values = names.table(arguments), arguments.get("part_vals")
    return CacheRequest(
        Partitions(
            table,
            missing=table_not_found(table),
            wanted=_by_values(values),
            by_values=any(values or ()),
            most=limit(arguments),
            with_privileges=with_privileges,
        )
    )


def get_partitions_ps_with_auth_req(arguments: Arguments) -> Understood:
    request = arguments["req"]
    refuse_unknown(request, *_PATTERNS)
    # An empty list selects nothing.
    refuse_set(request, "partNames")
    table, values = names.table_in_catalog(request), request.get("partVals")
    read = Partitions(
        table,
        missing=table_not_found(table),
        wanted=_by_values(values),
        by_values=any(values or ()),
        most=limit(request, "maxParts"),
        with_privileges=True,
        without_columns=request.get("skipColumnSchemaForPartition", False),
    )
    return of_request(read, request, table)


def get_partitions_by_names(arguments: Arguments) -> Understood:
    refuse_unknown(arguments)
    table = names.table(arguments)
    return CacheRequest(
        Partitions(table, missing=_no_object(table), names=_names(arguments.get("names")))
    )


def get_partitions_by_names_req(arguments: Arguments) -> Understood:
    request = arguments["req"]
    refuse_unknown(request, "getFileMetadata", *_PATTERNS)
    table = names.table(request)
    read = Partitions(
        table,
        missing=_no_object(table),
        names=_names(request.get("names")),
        without_columns=request.get("skipColumnSchemaForPartition", False),
        capabilities=tuple(request.get("processorCapabilities", ())),
        engine=request.get("engine", DEFAULT_ENGINE) if request.get("get_col_stats") else None,
    )
    return of_request(read, request, table)


def get_partitions_by_filter(arguments: Arguments) -> Understood:
    refuse_unknown(arguments)
    table, wanted = names.table(arguments), _by_filter(arguments.get("filter"))
    return CacheRequest(
        Partitions(
            table,
            missing=_does_not_exist(table),
            wanted=wanted,
            by_query=True,
            most=limit(arguments),
        )
    )


def get_partitions_by_filter_req(arguments: Arguments) -> Understood:
    request = arguments["req"]
    refuse_unknown(request, *_PATTERNS)
    _check_catalog(request)
    table = names.table_in_catalog(request)
    read = Partitions(
        table,
        missing=_does_not_exist(table),
        wanted=_by_filter(request.get("filter")),
        by_query=True,
        most=limit(request, "maxParts"),
        without_columns=request.get("skipColumnSchemaForPartition", False),
    )
    return CacheRequest(read)


def get_num_partitions_by_filter(arguments: Arguments) -> Understood:
    refuse_unknown(arguments)
    table, wanted = names.table(arguments), _by_filter(arguments.get("filter"))
    return CacheRequest(
        Partitions(table, missing=_does_not_exist(table), wanted=wanted, of_each=Of.NUMBER)
    )


def get_partitions_by_expr(arguments: Arguments) -> Understood:
    return _by_expression(arguments, Of.OBJECTS)


def get_partitions_spec_by_expr(arguments: Arguments) -> Understood:
    return _by_expression(arguments, Of.SPECS)


def _by_expression(arguments: Arguments, of_each: Of) -> Understood:
    request = arguments["req"]
    refuse_unknown(request, "order", *_PATTERNS)
    if request.get("defaultPartitionName") not in (None, "", DEFAULT_PARTITION):
        raise InputError("another name of the default partition")
    text = _filter_of(request["expr"], of_each)
    if isinstance(text, RelayReason):
        return text
    table = names.table_in_catalog(request)
    read = Partitions(
        table,
        missing=_does_not_exist(table),
        wanted=_by_filter(text),
        by_query=True,
        most=limit(request, "maxParts"),
        of_each=of_each,
        is_ordered=of_each is not Of.SPECS,
        without_columns=request.get("skipColumnSchemaForPartition", False),
    )
    return of_request(read, request, table)


def _filter_of(expression: bytes, of_each: Of) -> str | RelayReason:
    """The text of an expression that is a filter. Serialized expressions contain bytes that texts
    don't.
    """
    if expression == (_EVERYTHING if of_each is Of.NAMES else b""):
        return ""
    try:
        text = expression.decode()
    except UnicodeDecodeError:
        return RelayReason.EXPRESSION
    return text if text.strip() and text.isprintable() else RelayReason.EXPRESSION


def _names_by_values(table: TableName, values: list[str] | None, most: int | None) -> Partitions:
    if not values:
        raise InputError("no values to select names by")
    return Partitions(
        table,
        missing=table_not_found(table),
        wanted=PartitionSelection(prefix=tuple(values)),
        by_values=True,
        most=most,
        of_each=Of.NAMES,
        is_ordered=False,
    )


def _by_values(values: list[str] | None) -> PartitionSelection:
    """A selection by values. Empty values match everything, however many there are."""
    return PartitionSelection(prefix=tuple(values) if values and any(values) else ())


def _names(names: list[str] | None) -> tuple[str, ...]:
    if names is None:
        raise InputError("no names to select partitions by")
    return tuple(names)


def _by_filter(text: str | None) -> PartitionSelection:
    if not text:
        return PartitionSelection()
    # A metastore reads the filter before it looks for the table.
    parse_filter(text)
    return PartitionSelection(filter=text)


def _check_catalog(request: Arguments) -> None:
    """Refuses a call without a catalog where the interface requires one."""
    if request.get("catName") is None:
        raise InputError("a request without a catalog")


def _no_object(table: TableName) -> Raised:
    return Raised("InvalidObjectException", f"{table} table not found")


def _does_not_exist(table: TableName) -> Raised:
    text = f"Specified catalog.database.table does not exist : {table}"
    return Raised("NoSuchObjectException", text)
