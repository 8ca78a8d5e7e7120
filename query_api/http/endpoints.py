"""The paths of all reads: their parameters, what they read, and how the answer is written."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from hive.errors import InputError
from hive.names import partition_items
from query_api.database.reads import CurrentEvent, GetWriteIds, ListCatalogs
from query_api.http import encode
from query_api.http.request_parameters import NAMED, RequestParameters
from query_api.reads import (
    AggregateStatistics,
    CountPartitions,
    GetConstraints,
    GetDatabase,
    GetFunction,
    GetPartition,
    GetPartitionStatistics,
    GetTable,
    GetTables,
    GetTableStatistics,
    ListDatabases,
    ListFunctions,
    ListPartitionNames,
    ListPartitions,
    ListTables,
    ListTablesOfAll,
    Page,
    Read,
)
from query_api.reads.partitions import PartitionSelection
from query_api.reads.statistics import DEFAULT_ENGINE

OBJECTS_MAX: Final = 10_000
OBJECTS: Final = 1_000
NAMES_MAX: Final = 100_000
NAMES: Final = 10_000

_CATALOG: Final = ("catalog",)
_PAGE: Final = ("after", "limit")
_SELECTION: Final = (*_CATALOG, "filter", "prefix", "name")
_FIGURES: Final = (*_CATALOG, "column", "engine")


class Named(NamedTuple):
    """What a name in a query or a body refers to."""

    what: str
    example: str


PARTITION: Final = Named(
    "The name of a partition, with the table's keys in their order", "ds=2026-01-01"
)
TABLE: Final = Named("A table, as db.table or catalog.db.table", "sales.orders")
DATABASE: Final = Named("The name of a database", "sales")


@dataclass(frozen=True)
class Lines:
    """How an answer is streamed."""

    read: Callable[[RequestParameters], Read[Any]]
    write: Callable[[Any], Iterator[bytes]]
    """Writes the items of an answer, one or more lines at a time."""


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """The path of one read."""

    id: str
    """The operation's id in the OpenAPI document, and what metrics call the read."""
    path: str
    summary: str
    read: Callable[[RequestParameters], Read[Any]]
    encode: Callable[[Any], bytes]
    parameters: tuple[str, ...] = ()
    answer: str = ""
    """The name of the answer's schema; `field:schema` means a list of items in a field."""
    lines: Lines | None = None
    """None if it can't be streamed."""
    has_body: bool = False
    """Whether POST takes a body with parameters that may be too long for a URL, or a header: so it
    does for all reads of one table, which have write-id lists.
    """
    required: tuple[str, ...] = ()
    """Required parameters; names may be in the body instead."""
    named: Named = PARTITION

    @property
    def has_names(self) -> bool:
        """Whether the body may have names."""
        return not NAMED.isdisjoint(self.parameters)


def _selection(parameters: RequestParameters) -> PartitionSelection:
    names = parameters.partitions() if parameters.has_names("name") else None
    selection = PartitionSelection(names, parameters.many("prefix"), parameters.filter)
    if sum((names is not None, bool(selection.prefix), selection.filter is not None)) > 1:
        raise InputError("give one of filter, prefix and name, not several")
    return selection


def _tables(parameters: RequestParameters) -> Read[Any]:
    types = parameters.many("type")
    return ListTables(
        parameters.db, parameters.single("pattern", "*"), types, parameters.page(NAMES, NAMES_MAX)
    )


def _tables_of_all(parameters: RequestParameters) -> Read[Any]:
    names = (
        tuple(name.lower() for name in parameters.names("name"))
        if parameters.has_names("name")
        else None
    )
    return ListTablesOfAll(
        parameters.catalog,
        parameters.single("database", "*"),
        parameters.single("pattern", "*"),
        parameters.many("type"),
        names,
        parameters.page(NAMES, NAMES_MAX),
    )


def _partition(parameters: RequestParameters) -> Read[Any]:
    items = partition_items(parameters.in_path("name"))
    keys = tuple(key.lower() for key, _ in items)
    return GetPartition(parameters.table, keys, tuple(value for _, value in items))


def _columns(parameters: RequestParameters) -> tuple[str, ...]:
    """The names of columns as they are stored, each once."""
    return tuple(dict.fromkeys(name.lower() for name in parameters.many("column")))


def _partition_statistics(parameters: RequestParameters) -> Read[Any]:
    return GetPartitionStatistics(
        parameters.table,
        parameters.partitions(),
        _columns(parameters),
        parameters.single("engine", DEFAULT_ENGINE),
    )


def _aggregate(parameters: RequestParameters) -> Read[Any]:
    columns = _columns(parameters)
    if not columns:
        raise InputError("name at least one column by column=…")
    engine = parameters.single("engine", DEFAULT_ENGINE)
    return AggregateStatistics(parameters.table, parameters.partitions(), columns, engine)


def _all_partitions(parameters: RequestParameters) -> Read[Any]:
    """All matching partitions, without a limit."""
    return ListPartitions(parameters.table, _selection(parameters), _rest(parameters))


def _all_names(parameters: RequestParameters) -> Read[Any]:
    """All their names, without a limit."""
    return ListPartitionNames(parameters.table, _selection(parameters), _rest(parameters))


def _rest(parameters: RequestParameters) -> Page:
    if parameters.single("limit"):
        return parameters.page(None, NAMES_MAX)
    return Page(parameters.single("after"))


_TABLE: Final = "/v1/databases/{db}/tables/{table}"

ENDPOINTS: Final = (
    Endpoint(
        id="getTable",
        path=_TABLE,
        summary="A table",
        read=lambda parameters: GetTable(parameters.table),
        encode=encode.table,
        parameters=_CATALOG,
        answer="Table",
        has_body=True,
    ),
    Endpoint(
        id="listPartitions",
        path=f"{_TABLE}/partitions",
        summary="Partitions, in the order of their names; as lines of JSON without a limit",
        read=lambda parameters: ListPartitions(
            parameters.table, _selection(parameters), parameters.page(OBJECTS, OBJECTS_MAX)
        ),
        encode=encode.partitions,
        parameters=(*_SELECTION, *_PAGE),
        answer="partitions:Partition",
        lines=Lines(_all_partitions, encode.partition_lines),
        has_body=True,
    ),
    Endpoint(
        id="getPartition",
        path=f"{_TABLE}/partitions/{{name:path}}",
        summary="A partition by its name, which may have the table's keys in any order",
        read=_partition,
        encode=encode.partition,
        parameters=_CATALOG,
        answer="Partition",
        has_body=True,
    ),
    Endpoint(
        id="listPartitionNames",
        path=f"{_TABLE}/partition-names",
        summary="The names of partitions, in order; as lines of JSON without a limit",
        read=lambda parameters: ListPartitionNames(
            parameters.table, _selection(parameters), parameters.page(NAMES, NAMES_MAX)
        ),
        encode=encode.partition_names,
        parameters=(*_SELECTION, *_PAGE),
        answer="PartitionNames",
        lines=Lines(_all_names, encode.partition_name_lines),
        has_body=True,
    ),
    Endpoint(
        id="countPartitions",
        path=f"{_TABLE}/partition-count",
        summary="The number of partitions",
        read=lambda parameters: CountPartitions(parameters.table, _selection(parameters)),
        encode=encode.count,
        parameters=_SELECTION,
        answer="Count",
        has_body=True,
    ),
    Endpoint(
        id="getTableStatistics",
        path=f"{_TABLE}/statistics",
        summary="The statistics of a table's columns",
        read=lambda parameters: GetTableStatistics(
            parameters.table, _columns(parameters), parameters.single("engine", DEFAULT_ENGINE)
        ),
        encode=encode.table_statistics,
        parameters=_FIGURES,
        answer="tableStats:ColumnStatisticsObj",
        has_body=True,
    ),
    Endpoint(
        id="getPartitionStatistics",
        path=f"{_TABLE}/partition-statistics",
        summary="The statistics of columns of single partitions",
        read=_partition_statistics,
        encode=encode.partition_statistics,
        parameters=(*_FIGURES, "name"),
        answer="PartitionStatistics",
        has_body=True,
        required=("name",),
    ),
    Endpoint(
        id="getAggregateStatistics",
        path=f"{_TABLE}/aggregate-statistics",
        summary="The statistics of columns over several partitions as one",
        read=_aggregate,
        encode=encode.aggregates,
        parameters=(*_FIGURES, "name"),
        answer="AggregateStatistics",
        has_body=True,
        required=("column", "name"),
    ),
    Endpoint(
        id="getTableConstraints",
        path=f"{_TABLE}/constraints",
        summary="The constraints of a table; foreign keys belong to the child",
        read=lambda parameters: GetConstraints(parameters.table),
        encode=encode.constraints,
        parameters=_CATALOG,
        answer="SQLAllTableConstraints",
        has_body=True,
    ),
    Endpoint(
        id="listTables",
        path="/v1/databases/{db}/tables",
        summary="The tables of a database: their names, types, owners and comments",
        read=_tables,
        encode=encode.table_lines,
        parameters=(*_CATALOG, "pattern", "type", *_PAGE),
        answer="tables:TableMeta",
    ),
    Endpoint(
        id="getTables",
        path="/v1/tables",
        summary="Several tables by their names; those that don't exist are left out",
        read=lambda parameters: GetTables(parameters.tables("name")),
        encode=encode.tables,
        parameters=("name",),
        answer="tables:Table",
        has_body=True,
        required=("name",),
        named=TABLE,
    ),
    Endpoint(
        id="listTableMetadata",
        path="/v1/table-metadata",
        summary="The tables of several databases: their names, types, owners and comments",
        read=_tables_of_all,
        encode=encode.table_lines_of_all,
        parameters=(*_CATALOG, "database", "pattern", "type", "name", *_PAGE),
        answer="tables:TableMeta",
        has_body=True,
        named=DATABASE,
    ),
    Endpoint(
        id="listDatabases",
        path="/v1/databases",
        summary="The databases of a catalog",
        read=lambda parameters: ListDatabases(
            parameters.catalog, parameters.single("pattern", "*"), parameters.page(NAMES, NAMES_MAX)
        ),
        encode=encode.databases,
        parameters=(*_CATALOG, "pattern", *_PAGE),
        answer="databases:Database",
    ),
    Endpoint(
        id="getDatabase",
        path="/v1/databases/{db}",
        summary="A database",
        read=lambda parameters: GetDatabase(parameters.db),
        encode=encode.database,
        parameters=_CATALOG,
        answer="Database",
    ),
    Endpoint(
        id="listFunctions",
        path="/v1/databases/{db}/functions",
        summary="The functions of a database",
        read=lambda parameters: ListFunctions(
            parameters.db, parameters.single("pattern", "*"), parameters.page(NAMES, NAMES_MAX)
        ),
        encode=encode.functions,
        parameters=(*_CATALOG, "pattern", *_PAGE),
        answer="functions:Function",
    ),
    Endpoint(
        id="getFunction",
        path="/v1/databases/{db}/functions/{function}",
        summary="A function",
        read=lambda parameters: GetFunction(parameters.db, parameters.in_path("function").lower()),
        encode=encode.function,
        parameters=_CATALOG,
        answer="Function",
    ),
    Endpoint(
        id="listCatalogs",
        path="/v1/catalogs",
        summary="All catalogs",
        read=lambda _: ListCatalogs(),
        encode=encode.catalogs,
        answer="CatalogNames",
    ),
    Endpoint(
        id="getCurrentEvent",
        path="/v1/current-event",
        summary="The id of the last event of the metastore",
        read=lambda _: CurrentEvent(),
        encode=encode.current_event,
        answer="CurrentEvent",
    ),
    Endpoint(
        id="getWriteIds",
        path="/v1/write-ids",
        summary="The write-id lists and ids of tables, as of one moment, for a reader to pass on",
        read=lambda parameters: GetWriteIds(
            parameters.tables("table"), parameters.single("txns") or None
        ),
        encode=encode.write_ids,
        parameters=("table", "txns"),
        answer="WriteIds",
        has_body=True,
        required=("table",),
        named=TABLE,
    ),
)
