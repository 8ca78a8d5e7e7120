"""The order in which the metastore's database sorts the names and values of partitions."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from sqlalchemy import Connection, text

from hive.collation import ALPHANUMERIC, ASCII, DIGITS, LATIN, Collation

_PLAIN_LANGUAGES: Final = frozenset(("", "root", "und", "en", "de", "fr", "it", "nl", "pt", "es"))
"""The languages in which no pair of the letters a to z sorts as one letter."""
_BY_BYTES: Final = frozenset(("C", "POSIX", "C.UTF-8", "C.UTF8", "C.utf8"))
_UNICODE: Final = frozenset(("UTF8", "LATIN1"))
"""The encodings whose bytes sort as those of UTF-8."""
# Whole rows are read, because the columns about languages differ by release.
_POSTGRESQL: Final = text(
    "SELECT (SELECT to_jsonb(d) FROM pg_database d WHERE d.datname = current_database()),"
    " to_jsonb(c), pg_encoding_to_char(d.encoding)"
    " FROM pg_attribute a JOIN pg_collation c ON c.oid = a.attcollation, pg_database d"
    " WHERE d.datname = current_database() AND a.attrelid IN"
    " ('\"PARTITIONS\"'::regclass, '\"PARTITION_KEY_VALS\"'::regclass)"
    " AND a.attname IN ('PART_NAME', 'PART_KEY_VAL')"
)
_MYSQL: Final = text(
    "SELECT COLLATION_NAME FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE()"
    " AND TABLE_NAME IN ('PARTITIONS', 'PARTITION_KEY_VALS')"
    " AND COLUMN_NAME IN ('PART_NAME', 'PART_KEY_VAL')"
)


def read_collation(connection: Connection) -> Collation:
    """The weakest guarantee among the columns of partitions' names and values."""
    if connection.dialect.name == "postgresql":
        collations = [of_postgresql(*row) for row in connection.execute(_POSTGRESQL).all()]
    else:
        collations = [of_mysql(name) for name in connection.scalars(_MYSQL).all()]
    return _weakest(collations)


def of_postgresql(
    database: Mapping[str, Any], column: Mapping[str, Any], encoding: str
) -> Collation:
    """The collation in rows of pg_database and pg_collation, for a database of this encoding."""
    provider, name = column["collprovider"], column["collcollate"]
    locale = column.get("colllocale") or column.get("colliculocale")
    rules = column.get("collicurules")
    if provider == "d":
        provider, name = database.get("datlocprovider", "c"), database["datcollate"]
        locale = database.get("datlocale") or database.get("daticulocale")
        rules = database.get("daticurules")
    if provider == "i":
        # Before PostgreSQL 15, ICU's collations have the language in the column of libc's names.
        return _of_language(locale or name, rules)
    if provider == "b" or name in _BY_BYTES:
        by_bytes = encoding in _UNICODE
        return Collation(locale or name, by_bytes, ASCII)
    return _of_language(name, None)


def of_mysql(name: str | None) -> Collation:
    """The collation of this name in MySQL or MariaDB."""
    if name is None or name == "binary":
        return Collation("binary", by_bytes=True, on_mysql=True)
    charset, _, _ = name.partition("_")
    if not name.endswith("_bin"):
        return Collation(name, is_exact=False, on_mysql=True)
    by_bytes = charset in ("utf8", "utf8mb3", "utf8mb4")
    sure = LATIN if charset == "latin1" else ASCII
    return Collation(name, by_bytes, sure, on_mysql=True)


def _of_language(name: str, rules: str | None) -> Collation:
    plain = name.partition(".")[0].replace("_", "-")
    if rules or "@" in name or "-u-" in plain.lower():
        # An option may sort digits as numbers.
        return Collation(name)
    language = plain.partition("-")[0].lower()
    return Collation(name, sure=ALPHANUMERIC if language in _PLAIN_LANGUAGES else DIGITS)


def _weakest(collations: Iterable[Collation]) -> Collation:
    return min(
        collations,
        key=lambda collation: (collation.is_exact, collation.by_bytes, len(collation.sure)),
    )
