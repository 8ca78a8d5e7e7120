"""Calls that give databases, and names of databases and tables."""

import re
from typing import Final
from urllib.parse import unquote, urlsplit

from hive.errors import InputError
from hive.names import DatabaseName, default_catalog
from hive.patterns import compile_request_pattern
from hive.thrift.view import View
from query_api.objects import Objects, is_remote
from query_api.reads.databases import details_of
from query_api.reads.read import Read
from query_api.targets import Target, TargetKind, of_catalog, of_database
from query_api.thrift.call import RelayReason
from query_api.thrift.methods import names
from query_api.thrift.methods.outcome import Outcome, Raised, texts
from query_api.thrift.methods.request import Arguments, CacheRequest, Understood, refuse_unknown

TABLE_TYPES: Final = frozenset(
    ("MANAGED_TABLE", "EXTERNAL_TABLE", "VIRTUAL_VIEW", "MATERIALIZED_VIEW")
)
_PLAIN: Final = re.compile(r"[\w*|.]+", re.ASCII)
"""Patterns that mean the same to Hive and to the cache."""
_NONE: Final = ""
"""The pattern that no name matches."""
_EMPTY: Final = "!"
"""What clients write for an empty text after a catalog."""
_PARTS_AT_ONCE: Final = 4
_LOCATION = 3


class GetDatabase(Read[Outcome], frozen=True):
    """One database. If it lies in the warehouse for managed tables, the metastore changes the
    location that it returns.
    """

    db: DatabaseName
    warehouse: str

    @property
    def targets(self) -> tuple[Target, ...]:
        return (of_database(TargetKind.DATABASE, self.db),)

    def further(self, objects: Objects) -> tuple[Target, ...]:
        return details_of(objects, self.db)

    def answer(self, objects: Objects) -> Outcome:
        data = objects.database(self.db)
        if data is None:
            return Raised("NoSuchObjectException", f"database {self.db.catalog}.{self.db.db}")
        if is_remote(data):
            return RelayReason.FORM
        if self.db.catalog == default_catalog() and self._is_shown_elsewhere(data):
            return RelayReason.FORM
        return data

    def _is_shown_elsewhere(self, data: bytes) -> bool:
        if not self.warehouse:
            return True
        root, location = _path(self.warehouse), _path(View(data).text(_LOCATION) or "")
        return f"{location}/".startswith(f"{root}/")


class ListDatabases(Read[Outcome], frozen=True):
    """The names of the databases of a catalog."""

    catalog: str
    pattern: str

    @property
    def targets(self) -> tuple[Target, ...]:
        return (of_catalog(TargetKind.DATABASES, self.catalog),)

    @property
    def is_long(self) -> bool:
        return has_many_parts(self.pattern)

    def answer(self, objects: Objects) -> Outcome:
        matches = compile_request_pattern(self.pattern, with_dots=True).fullmatch
        return texts(sorted(name for name, _ in objects.databases(self.catalog) if matches(name)))


class ListTables(Read[Outcome], frozen=True):
    """The names of the tables of a database."""

    db: DatabaseName
    pattern: str
    type: str | None = None

    @property
    def targets(self) -> tuple[Target, ...]:
        return of_database(TargetKind.NAMES, self.db), of_database(TargetKind.DATABASE, self.db)

    @property
    def is_long(self) -> bool:
        return True

    def answer(self, objects: Objects) -> Outcome:
        database = objects.database(self.db)
        if database is None:
            return texts([])
        if is_remote(database):
            return RelayReason.FORM
        matches = compile_request_pattern(self.pattern, with_dots=True).fullmatch
        lines = sorted(line for line in objects.names(self.db) if matches(line.table))
        if self.type is not None and not all(line.type for line in lines):
            # An alter gives such a table a type without showing a change.
            return RelayReason.FORM
        return texts([line.table for line in lines if self.type in (None, line.type)])


def get_databases(arguments: Arguments) -> Understood:
    refuse_unknown(arguments)
    if arguments.get("pattern") is None:
        # Without a pattern, Hive 4.0 fails; later releases list all databases.
        return RelayReason.FORM
    catalog, pattern = names.place(arguments["pattern"])
    return CacheRequest(
        ListDatabases(catalog, _NONE if pattern in ("", _EMPTY) else plain_pattern(pattern))
    )


def get_all_databases(arguments: Arguments) -> Understood:
    refuse_unknown(arguments)
    return CacheRequest(ListDatabases(default_catalog(), "*"))


def get_database(arguments: Arguments, warehouse: str) -> Understood:
    refuse_unknown(arguments)
    return CacheRequest(GetDatabase(names.database(arguments.get("name")), warehouse))


def get_database_req(arguments: Arguments, warehouse: str) -> Understood:
    request = arguments["request"]
    refuse_unknown(request)
    if request.get("catalogName") is None:
        raise InputError("a request without a catalog")
    place = {"catName": request["catalogName"], "dbName": request.get("name")}
    return CacheRequest(GetDatabase(names.database_in_catalog(place), warehouse))


def get_all_tables(arguments: Arguments) -> Understood:
    refuse_unknown(arguments)
    return CacheRequest(ListTables(names.database(arguments.get("db_name")), "*"))


def get_tables(arguments: Arguments) -> Understood:
    refuse_unknown(arguments)
    db = names.database(arguments.get("db_name"))
    return CacheRequest(ListTables(db, plain_pattern(arguments.get("pattern"))))


def get_tables_by_type(arguments: Arguments) -> Understood:
    refuse_unknown(arguments)
    db, kind = names.database(arguments.get("db_name")), arguments.get("tableType")
    if kind not in TABLE_TYPES:
        raise InputError("an unknown type of tables")
    return CacheRequest(ListTables(db, plain_pattern(arguments.get("pattern")), kind))


def has_many_parts(pattern: str) -> bool:
    """Whether it takes long to compare a pattern with the names of all databases."""
    return pattern.count("|") + pattern.count("*") > _PARTS_AT_ONCE


def plain_pattern(text: str | None) -> str:
    """A pattern, if the cache and the metastore interpret it alike."""
    if text is None or text == ".*":
        return "*"
    # Without any alternative, the metastore has no condition left.
    if _PLAIN.fullmatch(text) is None or not text.strip("|"):
        raise InputError("a pattern that only the metastore understands")
    return text


def _path(location: str) -> str:
    """The path within a location, normalized so that paths can be compared."""
    return re.sub("/+", "/", unquote(urlsplit(location).path)).rstrip("/")
