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
from query_api.reads.partitions import Wanted
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


@dataclass(frozen=True)
class Endpoint:
    """The path of one read."""

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


def _wanted(parameters: RequestParameters) -> Wanted:
    names = parameters.partitions() if parameters.has_names("name") else None
    wanted = Wanted(names, parameters.many("prefix"), parameters.filter)
    if sum((names is not None, bool(wanted.prefix), wanted.filter is not None)) > 1:
        raise InputError("give one of filter, prefix and name, not several")
    return wanted


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
    return ListPartitions(parameters.table, _wanted(parameters), _rest(parameters))


def _all_names(parameters: RequestParameters) -> Read[Any]:
    """All their names, without a limit."""
    return ListPartitionNames(parameters.table, _wanted(parameters), _rest(parameters))


def _rest(parameters: RequestParameters) -> Page:
    if parameters.single("limit"):
        return parameters.page(None, NAMES_MAX)
    return Page(parameters.single("after"))


_TABLE: Final = "/v1/databases/{db}/tables/{table}"

ENDPOINTS: Final = (
    Endpoint(
        _TABLE,
        "A table",
        lambda g: GetTable(g.table),
        encode.table,
        _CATALOG,
        "Table",
        has_body=True,
    ),
    Endpoint(
        f"{_TABLE}/partitions",
        "Partitions, in the order of their names; as lines of JSON without a limit",
        lambda g: ListPartitions(g.table, _wanted(g), g.page(OBJECTS, OBJECTS_MAX)),
        encode.partitions,
        (*_SELECTION, *_PAGE),
        "partitions:Partition",
        Lines(_all_partitions, encode.partition_lines),
        has_body=True,
    ),
    Endpoint(
        f"{_TABLE}/partitions/{{name:path}}",
        "A partition by its name, which may have the table's keys in any order",
        _partition,
        encode.partition,
        _CATALOG,
        "Partition",
        has_body=True,
    ),
    Endpoint(
        f"{_TABLE}/partition-names",
        "The names of partitions, in order; as lines of JSON without a limit",
        lambda g: ListPartitionNames(g.table, _wanted(g), g.page(NAMES, NAMES_MAX)),
        encode.partition_names,
        (*_SELECTION, *_PAGE),
        "PartitionNames",
        Lines(_all_names, encode.partition_name_lines),
        has_body=True,
    ),
    Endpoint(
        f"{_TABLE}/partition-count",
        "The number of partitions",
        lambda g: CountPartitions(g.table, _wanted(g)),
        encode.count,
        _SELECTION,
        "Count",
        has_body=True,
    ),
    Endpoint(
        f"{_TABLE}/statistics",
        "The statistics of a table's columns",
        lambda g: GetTableStatistics(g.table, _columns(g), g.single("engine", DEFAULT_ENGINE)),
        encode.table_statistics,
        _FIGURES,
        "tableStats:ColumnStatisticsObj",
        has_body=True,
    ),
    Endpoint(
        f"{_TABLE}/partition-statistics",
        "The statistics of columns of partitions, by the names of these",
        _partition_statistics,
        encode.partition_statistics,
        (*_FIGURES, "name"),
        "PartitionStatistics",
        has_body=True,
        required=("name",),
    ),
    Endpoint(
        f"{_TABLE}/aggregate-statistics",
        "The statistics of columns over several partitions as one",
        _aggregate,
        encode.aggregates,
        (*_FIGURES, "name"),
        "AggregateStatistics",
        has_body=True,
        required=("column", "name"),
    ),
    Endpoint(
        f"{_TABLE}/constraints",
        "The constraints of a table; foreign keys belong to the child",
        lambda g: GetConstraints(g.table),
        encode.constraints,
        _CATALOG,
        "SQLAllTableConstraints",
        has_body=True,
    ),
    Endpoint(
        "/v1/databases/{db}/tables",
        "The tables of a database as lists show them",
        _tables,
        encode.table_lines,
        (*_CATALOG, "pattern", "type", *_PAGE),
        "tables:TableMeta",
    ),
    Endpoint(
        "/v1/tables",
        "Those of several tables that exist",
        lambda g: GetTables(g.tables("name")),
        encode.tables,
        ("name",),
        "tables:Table",
        has_body=True,
        required=("name",),
        named=TABLE,
    ),
    Endpoint(
        "/v1/table-metadata",
        "The tables of several databases as lists show them",
        _tables_of_all,
        encode.table_lines_of_all,
        (*_CATALOG, "database", "pattern", "type", "name", *_PAGE),
        "tables:TableMeta",
        has_body=True,
        named=DATABASE,
    ),
    Endpoint(
        "/v1/databases",
        "The databases of a catalog",
        lambda g: ListDatabases(g.catalog, g.single("pattern", "*"), g.page(NAMES, NAMES_MAX)),
        encode.databases,
        (*_CATALOG, "pattern", *_PAGE),
        "databases:Database",
    ),
    Endpoint(
        "/v1/databases/{db}",
        "A database",
        lambda g: GetDatabase(g.db),
        encode.database,
        _CATALOG,
        "Database",
    ),
    Endpoint(
        "/v1/databases/{db}/functions",
        "The functions of a database",
        lambda g: ListFunctions(g.db, g.single("pattern", "*"), g.page(NAMES, NAMES_MAX)),
        encode.functions,
        (*_CATALOG, "pattern", *_PAGE),
        "functions:Function",
    ),
    Endpoint(
        "/v1/databases/{db}/functions/{function}",
        "A function",
        lambda g: GetFunction(g.db, g.in_path("function").lower()),
        encode.function,
        _CATALOG,
        "Function",
    ),
    Endpoint(
        "/v1/catalogs",
        "All catalogs",
        lambda _: ListCatalogs(),
        encode.catalogs,
        answer="CatalogNames",
    ),
    Endpoint(
        "/v1/current-event",
        "The id of the last event of the metastore",
        lambda _: CurrentEvent(),
        encode.current_event,
        answer="CurrentEvent",
    ),
    Endpoint(
        "/v1/write-ids",
        "The write-id lists and ids of tables, as of one moment, for a reader to pass on",
        lambda g: GetWriteIds(g.tables("table"), g.single("txns") or None),
        encode.write_ids,
        ("table", "txns"),
        "WriteIds",
        has_body=True,
        required=("table",),
        named=TABLE,
    ),
)
