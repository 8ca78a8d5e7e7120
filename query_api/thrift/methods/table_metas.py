"""The call that gives a line for each table of several databases, in two reads."""

from functools import lru_cache
from typing import Final

from hive.names import DatabaseName, TableName
from hive.patterns import compile_request_pattern
from hive.thrift.binary import encode
from hive.thrift.types import Struct, i32, string
from query_api.objects import Objects, is_remote
from query_api.reads.read import Read
from query_api.targets import Target, TargetKind, of_catalog, of_database
from query_api.thrift.call import RelayReason
from query_api.thrift.methods import names
from query_api.thrift.methods.databases import has_many_parts, plain_pattern
from query_api.thrift.methods.outcome import Outcome, structs
from query_api.thrift.methods.request import Arguments, CacheRequest, Understood, refuse_unknown
from state.shard_reader import NameLine

TABLE_META: Final = Struct(
    "TableMeta",
    (1, "dbName", string),
    (2, "tableName", string),
    (3, "tableType", string),
    (4, "comments", string),
    (5, "catName", string),
    (6, "ownerName", string),
    (7, "ownerType", i32),
)
_REMEMBERED_METAS_MAX: Final = 5_000
_REMEMBERED_CHARS_MAX: Final = 500


class FindDatabases(Read[Outcome], frozen=True):
    """The first read: the databases."""

    catalog: str
    databases: str
    tables: str
    types: tuple[str, ...]

    @property
    def targets(self) -> tuple[Target, ...]:
        return (of_catalog(TargetKind.DATABASES, self.catalog),)

    @property
    def subjects(self) -> tuple[Target, ...]:
        return (of_catalog(TargetKind.NAMES, self.catalog),)

    @property
    def is_long(self) -> bool:
        return has_many_parts(self.databases)

    def answer(self, objects: Objects) -> Outcome:
        matches = compile_request_pattern(self.databases, with_dots=True).fullmatch
        databases = []
        for name, data in sorted(objects.databases(self.catalog)):
            if matches(name):
                if is_remote(data):
                    return RelayReason.FORM
                databases.append(DatabaseName(self.catalog, name))
        return FindTables(tuple(databases), self.tables, self.types) if databases else structs([])


class FindTables(Read[Outcome], frozen=True):
    """The second read: their tables."""

    databases: tuple[DatabaseName, ...]
    pattern: str
    types: tuple[str, ...]

    @property
    def targets(self) -> tuple[Target, ...]:
        return tuple(of_database(TargetKind.NAMES, db) for db in self.databases)

    @property
    def is_long(self) -> bool:
        return True

    def answer(self, objects: Objects) -> Outcome:
        matches = compile_request_pattern(self.pattern, with_dots=True).fullmatch
        matching = [
            (db.table(line.table), line)
            for db in self.databases
            for line in objects.names(db)
            if matches(line.table)
        ]
        # The metastore raises an exception if a table has no type, and an alter, which reads one
        # where none is stored, gives it that type without showing a change.
        if not all(line.type for _, line in matching):
            return RelayReason.FORM
        lines = [item for item in matching if not self.types or item[1].type in self.types]
        return structs([_meta_of(table, line) for table, line in sorted(lines)])


def get_table_meta(arguments: Arguments) -> Understood:
    refuse_unknown(arguments)
    if arguments.get("db_patterns") is None:
        # Hive 4.0 lists all databases, Hive 4.2 none.
        return RelayReason.FORM
    catalog, databases = names.place(arguments["db_patterns"])
    return CacheRequest(
        FindDatabases(
            catalog,
            plain_pattern(databases),
            plain_pattern(arguments.get("tbl_patterns")),
            tuple(arguments.get("tbl_types", ())),
        )
    )


def _meta_of(table: TableName, line: NameLine) -> bytes:
    is_short = len(line.comment or "") <= _REMEMBERED_CHARS_MAX
    return (_remembered_meta if is_short else _meta)(table, line)


def _meta(table: TableName, line: NameLine) -> bytes:
    return encode(
        TABLE_META,
        {
            "dbName": table.db,
            "tableName": table.table,
            "tableType": line.type,
            "comments": line.comment,
            "catName": table.catalog,
            "ownerName": line.owner,
            "ownerType": line.owner_type,
        },
    )


_remembered_meta = lru_cache(maxsize=_REMEMBERED_METAS_MAX)(_meta)
