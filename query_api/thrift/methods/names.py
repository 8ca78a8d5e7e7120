"""Names in requests, in which a catalog may precede the database, as in `@hive#sales`."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from hive.errors import InputError
from hive.names import DatabaseName, TableName, default_catalog, is_storable, storable


class Place(NamedTuple):
    """A catalog, and the name or the pattern of a database in it; None means all databases."""

    catalog: str
    db: str | None


def place(text: str | None) -> Place:
    """Reads `db` or `@catalog#db`. A metastore repeats a catalog as it was given, in errors and in
    lines of tables, so a name in another form than the stored one is refused.
    """
    catalog, db = split(text)
    return Place(_word(catalog), db)


def split(text: str | None) -> Place:
    """Reads `db` or `@catalog#db`, whatever the form of the catalog's name."""
    if text is None or not text.startswith("@"):
        return Place(default_catalog(), text)
    catalog, separator, db = text[1:].partition("#")
    if not separator or not catalog:
        raise InputError(f"{text[:80]!r} names no catalog")
    return Place(catalog, db or None)


def database(text: str | None) -> DatabaseName:
    """The database that `db` or `@catalog#db` names."""
    catalog, db = place(text)
    return _database(catalog, db)


def table(arguments: Mapping[str, Any]) -> TableName:
    """The table of an older call, with the database possibly in another catalog."""
    catalog, db = place(arguments.get("db_name"))
    return _table(catalog, db, arguments.get("tbl_name"))


def table_in_catalog(
    request: Mapping[str, Any], db: str = "dbName", tbl: str = "tblName"
) -> TableName:
    """The table of a newer call, which names the catalog separately."""
    catalog = request.get("catName", default_catalog())
    return _table(catalog, request.get(db), request.get(tbl))


def refuse_without_catalog(request: Mapping[str, Any]) -> None:
    """Refuses a call without a catalog, as the metastore does where its interface requires one."""
    if "catName" not in request:
        raise InputError("a request without its required catalog")


def database_in_catalog(request: Mapping[str, Any], db: str = "dbName") -> DatabaseName:
    """The database of a newer call."""
    return _database(request.get("catName", default_catalog()), request.get(db))


def member(text: str | None) -> str:
    """A column or a function, whose name may hold anything but upper case and blanks around it."""
    if not text or text != text.strip().lower() or not is_storable(text):
        raise InputError(f"{str(text)[:80]!r} is not a name in its stored form")
    return text


@lru_cache(maxsize=4096)
def _table(catalog: str | None, db: str | None, table: str | None) -> TableName:
    return storable(TableName(_word(catalog), _word(db), _word(table)))


def _database(catalog: str | None, db: str | None) -> DatabaseName:
    return storable(TableName(_word(catalog), _word(db), "")).database


def _word(text: str | None) -> str:
    """A name as it is stored. Calls with names that a metastore would normalize go to it."""
    if not text or text != text.strip().lower() or text[0] == "@" or "." in text:
        raise InputError(f"{str(text)[:80]!r} is not a name in its stored form")
    return text
