"""Calls that give tables."""

from typing import Final

from hive.errors import InputError
from hive.names import DatabaseName, TableName
from hive.thrift.binary import decode, encode, extended
from hive.thrift.structs import TABLE
from hive.thrift.view import TableView
from hive.write_ids.lists import WriteIdList
from query_api.objects import Objects, is_remote
from query_api.reads.read import SHORT_MAX, Group, Read
from query_api.reads.statistics import DEFAULT_ENGINE
from query_api.targets import Target, TargetKind, of_database
from query_api.thrift.call import RelayReason
from query_api.thrift.methods import names
from query_api.thrift.methods.capabilities import table_for
from query_api.thrift.methods.outcome import Outcome, structs, table_not_found
from query_api.thrift.methods.request import (
    Arguments,
    CacheRequest,
    Understood,
    at_snapshot,
    refuse_set,
    refuse_unknown,
    snapshot,
)
from query_api.thrift.methods.statistics import chosen, described
from query_api.thrift.methods.statistics_compliance import columns_with_statistics, complies
from query_api.thrift.methods.table_method import StatisticsOnRequest
from query_api.thrift.methods.table_traits import TableTraits, table_traits

TABLES_MAX: Final = 1_000
"""Calls for more tables go to the metastore, because judging each table delays other calls."""
_INSERT_ONLY = 2
_MATERIALIZED = "MATERIALIZED_VIEW"


class GetTable(StatisticsOnRequest, frozen=True, kw_only=True):
    """One table as the caller sees it."""

    capabilities: tuple[str, ...] = ()
    knows_insert_only: bool = False
    snapshot: WriteIdList | None = None

    @property
    def group(self) -> Group | None:
        if self.with_database or self.engine is not None:
            return None
        return Group(TargetKind.TABLE, self.table)

    def of(self, table: bytes, objects: Objects) -> Outcome:
        traits = table_traits(table)
        if not _can_be_shown(traits):
            return RelayReason.FORM
        if traits.insert_only and not self.knows_insert_only:
            return RelayReason.CAPABILITIES
        if self.snapshot is not None and traits.transactional and not traits.keys:
            table = _with_compliance(table, self.snapshot)
        if self.engine is not None:
            table = self._with_statistics(table, traits, self.engine, objects)
        return table_for(self.capabilities, table, traits)

    def _with_statistics(
        self, table: bytes, traits: TableTraits, engine: str, objects: Objects
    ) -> bytes:
        parameters = decode(TABLE, table)["parameters"]
        columns = columns_with_statistics(parameters)
        of_columns = chosen(objects.table_statistics(self.table), columns, engine)
        if not of_columns:
            return table
        compliant = None
        if self.snapshot is not None:
            compliant = not traits.transactional or complies(
                parameters, TableView(table).write_id, self.snapshot
            )
        figures = described(self.table, None, of_columns, compliant=compliant)
        return extended(TABLE, table, colStats=figures)


class GetTables(Read[Outcome], frozen=True):
    """Several tables of one database; missing ones are left out."""

    db: DatabaseName
    names: tuple[str, ...]
    knows_insert_only: bool = False
    with_database: bool = False

    @property
    def targets(self) -> tuple[Target, ...]:
        targets = tuple(Target(TargetKind.TABLE, name) for name in self._tables)
        if self.with_database or not targets:
            return (*targets, of_database(TargetKind.DATABASE, self.db))
        return targets

    @property
    def is_long(self) -> bool:
        return len(self.names) > SHORT_MAX

    @property
    def _tables(self) -> list[TableName]:
        return [self.db.table(name) for name in self.names]

    def answer(self, objects: Objects) -> Outcome:
        tables = objects.tables(self._tables)
        if not tables:
            if not self.with_database:
                return GetTables(self.db, self.names, self.knows_insert_only, True)
            return self._none(objects)
        for table in tables:
            traits = table_traits(table)
            if not _can_be_shown(traits):
                return RelayReason.FORM
            if traits.insert_only and not self.knows_insert_only:
                return RelayReason.CAPABILITIES
        return structs(tables)

    def _none(self, objects: Objects) -> Outcome:
        database = objects.database(self.db)
        if database is None:
            # The wording of the error depends on the release.
            return RelayReason.FORM if self.names else structs([])
        return RelayReason.FORM if is_remote(database) else structs([])


def get_table(arguments: Arguments) -> Understood:
    """The call of Hive 3 and before, which states no capabilities."""
    refuse_unknown(arguments)
    table = names.table(arguments)
    return CacheRequest(GetTable(table, missing=table_not_found(table)))


def get_table_req(arguments: Arguments) -> Understood:
    request = arguments["req"]
    refuse_unknown(request)
    table = names.table_in_catalog(request)
    ids = snapshot(request.get("validWriteIdList"), table)
    read = GetTable(
        table,
        missing=table_not_found(table),
        capabilities=tuple(request.get("processorCapabilities", ())),
        knows_insert_only=_knows_insert_only(request),
        snapshot=ids,
        engine=request.get("engine", DEFAULT_ENGINE) if request.get("getColumnStats") else None,
    )
    return at_snapshot(read, ids, request.get("id"))


def get_table_objects_by_name(arguments: Arguments) -> Understood:
    """The call of Hive 3 and before."""
    refuse_unknown(arguments)
    return _tables(
        names.database(arguments.get("db_name")), arguments.get("tbl_names"), knows=False
    )


def get_table_objects_by_name_req(arguments: Arguments) -> Understood:
    request = arguments["req"]
    refuse_unknown(request, "projectionSpec")
    # An empty pattern matches nothing.
    refuse_set(request, "tablesPattern")
    db = names.database_in_catalog(request)
    return _tables(db, request.get("tblNames"), knows=_knows_insert_only(request))


def _tables(db: DatabaseName, table_names: list[str] | None, *, knows: bool) -> Understood:
    if table_names is None or not all(name == name.strip().lower() for name in table_names):
        raise InputError("names of tables that aren't in their stored form")
    if len(table_names) > TABLES_MAX:
        raise InputError("too many tables for one call")
    return CacheRequest(GetTables(db, tuple(dict.fromkeys(table_names)), knows))


def _knows_insert_only(request: Arguments) -> bool:
    return "capabilities" in request and _INSERT_ONLY in request["capabilities"]["values"]


def _can_be_shown(traits: TableTraits) -> bool:
    """Whether the cache can show the table: the sources of a materialized view aren't stored."""
    return traits.type != _MATERIALIZED


def _with_compliance(table: bytes, ids: WriteIdList) -> bytes:
    """Notes in a table whether its statistics fit this snapshot; drops them if they don't."""
    view = TableView(table)
    parameters = decode(TABLE, table)["parameters"]
    compliant = complies(parameters, view.write_id, ids)
    if not compliant and parameters.pop("COLUMN_STATS_ACCURATE", None) is not None:
        table = encode(TABLE, {**decode(TABLE, table), "parameters": parameters})
    return extended(TABLE, table, isStatsCompliant=compliant)
