"""Names of databases, tables and partitions as the metastore spells them."""

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import chain
from typing import Final, NamedTuple

import msgspec

from hive.errors import InputError, NameFormatError

DEFAULT_CATALOG = "hive"
"""The default catalog of metastores that aren't configured otherwise."""
DEFAULT_PARTITION = "__HIVE_DEFAULT_PARTITION__"
"""The name of a null or empty partition value."""

CATALOG_CHARACTERS_MAX: Final = 256
DATABASE_CHARACTERS_MAX: Final = 128
TABLE_CHARACTERS_MAX: Final = 256
"""The widths of the metastore's columns."""

_UNSAFE_CHARACTERS = r"""\x00-\x1f\x7f"#%'*/:=?\\{\[\]^"""
_UNSAFE = re.compile(f"[{_UNSAFE_CHARACTERS}]")
_PLAIN_PART = f"[a-z0-9_]+=[^{_UNSAFE_CHARACTERS}]+"
_PLAIN_NAME = re.compile(f"{_PLAIN_PART}(?:/{_PLAIN_PART})*")
SAFE_BYTES = bytes(code for code in range(256) if code > 127 or not _UNSAFE.match(chr(code)))
"""The bytes of the UTF-8 of characters that are escaped nowhere in the name of a partition."""
_IN_PLAIN_NAMES = SAFE_BYTES + b"/="
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")
_ESCAPED = re.compile("%([0-9A-Fa-f]{2})")


class DatabaseName(msgspec.Struct, frozen=True, array_like=True):
    """A database's full name, in lower case."""

    catalog: str
    db: str

    def __str__(self) -> str:
        return f"{self.catalog}.{self.db}"

    def table(self, name: str) -> "TableName":
        """The full name of one of its tables; the name must be in lower case."""
        return TableName(self.catalog, self.db, name)


class TableName(NamedTuple):
    """A table's full name, in lower case."""

    # Made by `table_name` or `parse_table_name`, which fold case.

    catalog: str
    db: str
    table: str

    def __str__(self) -> str:
        return f"{self.catalog}.{self.db}.{self.table}"

    @property
    def in_catalog(self) -> str:
        """`db.table`, the form of Hive's transaction tables and write-id lists."""
        return f"{self.db}.{self.table}"

    @property
    def database(self) -> DatabaseName:
        return DatabaseName(self.catalog, self.db)

    @property
    def in_default_catalog(self) -> bool:
        """Whether `in_catalog` means this table: Hive's transaction tables, and the events about
        them, name no catalog."""
        return self.catalog == default_catalog()


class _Names:
    """The process-wide settings of names."""

    default_catalog = DEFAULT_CATALOG


def default_catalog() -> str:
    """The catalog of names that have none."""
    return _Names.default_catalog


def set_default_catalog(catalog: str) -> None:
    """Sets the metastores' default catalog for this process, before it reads any name."""
    if not catalog or catalog != catalog.strip() or {".", "#", "@"}.intersection(catalog):
        raise InputError(f"{catalog[:80]!r} can't be the default catalog: it names none")
    _Names.default_catalog = catalog.lower()


def table_name(catalog: str | None, db: str, table: str) -> TableName:
    """The name in lower case; no catalog means the default one."""
    return TableName((catalog or default_catalog()).lower(), db.lower(), table.lower())


def parse_table_name(text: str) -> TableName:
    """Reads `db.table` or `catalog.db.table`."""
    parts = text.split(".")
    if not all(parts) or len(parts) not in (2, 3):
        raise NameFormatError(text, "write db.table or catalog.db.table")
    *catalog, db, table = parts
    return storable(table_name(catalog[0] if catalog else None, db, table))


@lru_cache(maxsize=4096)
def storable(name: TableName) -> TableName:
    """The name. Raises NameFormatError if no metastore can hold it; a database's name comes with
    an empty table.
    """
    for text, kind, characters_max in (
        (name.catalog, "catalog", CATALOG_CHARACTERS_MAX),
        (name.db, "database", DATABASE_CHARACTERS_MAX),
        (name.table, "table", TABLE_CHARACTERS_MAX),
    ):
        if len(text) > characters_max:
            advice = f"a {kind}'s name has at most {characters_max} characters, not {len(text)}"
            raise NameFormatError(text, advice)
        if not is_storable(text):
            raise NameFormatError(text, "it has a character that no database can hold")
    return name


def is_storable(text: str) -> bool:
    """Whether a database can hold a text: PostgreSQL takes no NUL, and none takes a half of a
    surrogate pair.
    """
    return _UNSTORABLE.search(text) is None


def escape_path_part(part: str | None) -> str:
    """A key or value, escaped as in a partition's name."""
    if not part:
        return DEFAULT_PARTITION
    return _UNSAFE.sub(lambda match: f"%{ord(match[0]):02X}", part)


def unescape_path_part(part: str) -> str:
    """The inverse of `escape_path_part`; a percent sign that escapes nothing stands for itself."""
    return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), part)


def partition_name(keys: Sequence[str], values: Sequence[str | None]) -> str:
    """The name `k=v/k2=v2`, with keys in lower case."""
    if len(keys) != len(values):
        what = ", ".join(map(str, values))
        raise NameFormatError(what, f"give one value for each of the keys {', '.join(keys)}")
    return "/".join(
        f"{escape_path_part(key.lower())}={escape_path_part(value)}"
        for key, value in zip(keys, values, strict=True)
    )


def stored_partition_name(name: str) -> str:
    """A partition's name in the metastore's own spelling: keys in lower case, everything escaped.
    Their order stays.
    """
    if _PLAIN_NAME.fullmatch(name):
        return name
    keys, values = zip(*partition_items(name), strict=True)
    return partition_name(keys, values)


def partition_names(keys: Sequence[str], many: Sequence[Sequence[str]]) -> list[str]:
    """The name of each partition, far faster than one call for each when nothing needs escaping."""
    if not {len(keys)}.issuperset(map(len, many)):
        return [partition_name(keys, values) for values in many]
    return partition_names_of(keys, list(chain.from_iterable(many))) if keys else [""] * len(many)


def partition_names_of(keys: Sequence[str], values: Sequence[str]) -> list[str]:
    """The names of partitions whose values are in one flat list, one partition after the other."""
    if not values:
        return []
    if "" in values or ",".join(values).encode().translate(None, SAFE_BYTES):
        each = zip(*[iter(values)] * len(keys), strict=True)
        return [partition_name(keys, own) for own in each]
    stems = (escape_path_part(key.lower()).replace("%", "%%") for key in keys)
    form = "/".join(f"{stem}=%s" for stem in stems)
    # Line breaks are escaped, so no name contains one.
    forms = "\n".join([form] * (len(values) // len(keys)))
    return (forms % tuple(values)).split("\n")


def values_by_name(keys: Sequence[str], names: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """The values in those of the names that partitions with these keys can have, by these names;
    far faster than one call for each when nothing is escaped.
    """
    if "/".join(names).encode(errors="replace").translate(None, _IN_PLAIN_NAMES):
        return {name: values for name in names if (values := _fitting_values(keys, name))}
    if not keys:
        return {}
    lines = _plain_names(tuple(keys))
    matched = lines.findall("\n".join(names))
    if len(matched) == len(names):
        # For a single key, it gives texts rather than tuples of them.
        texts = matched if len(keys) > 1 else zip(matched, strict=True)
        return dict(zip(names, texts, strict=True))
    return {name: match.groups() for name in names if (match := lines.fullmatch(name))}


def values_of_names(keys: Sequence[str], names: Sequence[str]) -> list[tuple[str, ...]]:
    """The values in different names of partitions with these keys, which a database may spell
    otherwise than partitions are named now.
    """
    by_name = values_by_name(keys, names)
    if len(by_name) == len(names):
        return list(by_name.values())
    return list(map(partition_values, names))


@lru_cache(maxsize=1024)
def _plain_names(keys: tuple[str, ...]) -> re.Pattern[str]:
    """Matches lines that are names of partitions with these keys, of characters of which none is
    escaped."""
    name = "/".join(f"{re.escape(key.lower())}=([^=/\n]+)" for key in keys)
    return re.compile(f"^{name}$", re.MULTILINE)


def _fitting_values(keys: Sequence[str], name: str) -> tuple[str, ...] | None:
    try:
        values = partition_values(name)
        return values if len(values) == len(keys) and partition_name(keys, values) == name else None
    except NameFormatError:
        return None


def partition_values(name: str) -> tuple[str, ...]:
    """The raw values in a partition's name; a null value is `DEFAULT_PARTITION`."""
    return tuple(value for _, value in partition_items(name))


def partition_items(name: str) -> tuple[tuple[str, str], ...]:
    """The raw keys and values in a partition's name."""
    items = []
    for part in name.split("/"):
        key, equals, value = part.partition("=")
        if not (key and equals and value):
            raise NameFormatError(name, f"write key=value/key=value; {part!r} is not key=value")
        items.append((unescape_path_part(key), unescape_path_part(value)))
    return tuple(items)
