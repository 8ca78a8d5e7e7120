"""The one form in which we keep an object, wherever it came from.

Events carry objects as the writer gave them; answers and the database hold them as the metastore
stored and reads them. Every encoder of this package applies the rules below, so that all sources
give the same bytes; applied to canonical bytes they change nothing. Fields are in order of their
ids, maps and sets in order of the bytes of their keys. The rules were seen in the logs of a real
Hive 4.2 and read in the source of 4.0.1:

======================================  =========================================================
Rule                                    Why
======================================  =========================================================
names of databases, tables, columns,    the metastore stores them in lower case, but those of
sort columns and functions are folded   columns of partitions that are altered together or by
                                        CASCADE as they were sent (see `STORED_DESCRIPTOR`)
ForeignKey.pk_name is folded            the parent's key is stored so; the event has it as sent
no catalog becomes `hive`               reads fill it in (CREATE_FUNCTION has none)
no owner type becomes USER (1)          stored so; CREATE_DATABASE has none
Table.rewriteEnabled: false when        reads fill it in; CREATE_TABLE has none
missing
Table.temporary: always false           never stored
Table.tableType agrees with EXTERNAL,   stored so: EXTERNAL=TRUE makes a managed table external;
and is filled in if it is missing       reads derive a missing one from this and a view's text
texts of a view only in views           reads leave them out for other types
full ACID tables: no parameters of the  reads leave them out for such tables, though the database
serde and descriptor, no sort columns,  and CREATE_TABLE have them. Partitions keep theirs: calls
no skew, only the serde's name and lib  by names give them, by filter not (see `ACID_PARTITION`)
missing lists, maps, skew of a          reads give them empty
descriptor, serde or object: empty
missing numbers, booleans that Java     Java has no null for them
keeps as primitives: zero, false
Partition.writeId below 1 becomes -1    reads say so; a table's is given as it is stored
Database: no type becomes NATIVE (1),   reads say so; a remote database's connector is left out
blank managed location is left out      of native ones
Function.resourceUris missing: empty    reads give it empty
ColumnStatistics.engine: `hive`         the IDL's default
accessType, required capabilities       computed for one caller's capabilities
privileges, isStatsCompliant, colStats, computed or fetched for one request, never part of the
fileMetadata, dictionary                stored object
Table.txnId                             of CREATE_TABLE's request; not stored
Table.creationMetadata                  changes without an event; the metastore sets its time and
                                        adds the whole source tables: only a metastore can tell it
======================================  =========================================================

Where an event says what the metastore doesn't store, `hive.events.stored_objects` corrects it
first. Unlike reads *with* a write-id list, the canonical form keeps COLUMN_STATS_ACCURATE of an
unpartitioned transactional table: whether it is shown depends on that list.
"""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, NamedTuple

from hive.names import DEFAULT_CATALOG
from hive.thrift.constraints import (
    CHECK_CONSTRAINT,
    DEFAULT_CONSTRAINT,
    FOREIGN_KEY,
    NOT_NULL_CONSTRAINT,
    PRIMARY_KEY,
    UNIQUE_CONSTRAINT,
)
from hive.thrift.statistics import COLUMN_STATISTICS, COLUMN_STATISTICS_DESC
from hive.thrift.structs import (
    DATABASE,
    FIELD_SCHEMA,
    FUNCTION,
    ORDER,
    PARTITION,
    SERDE_INFO,
    SKEWED_INFO,
    STORAGE_DESCRIPTOR,
    TABLE,
)
from hive.thrift.types import Field, ListOf, Struct, Type

__all__ = [
    "ACID_PARTITION",
    "STORED_COLUMN",
    "STORED_DESCRIPTOR",
    "USER",
    "CanonicalField",
    "TableForm",
    "canonical_fields",
    "is_full_acid",
    "is_transactional",
    "table_form",
]

USER = 1
"""The type of owners that have none."""
_NATIVE = 1


class Rule(NamedTuple):
    """What the canonical form does with one field."""

    default: Any = None
    """Supplies a value if the object has none."""
    fold: Callable[[Any], Any] | None = None
    """Changes a scalar that is set."""
    dropped: bool = False
    fixed: bool = False
    """The default replaces even a value that is set."""


class CanonicalField(NamedTuple):
    """A field in the canonical form."""

    id: int
    name: str
    type: Type
    default: Any
    fold: Callable[[Any], Any] | None
    fixed: bool


def _lower(text: str) -> str:
    return text.lower()


def _identifier(text: str) -> str:
    return text.strip().lower()


def _positive_or_minus_one(write_id: int) -> int:
    return write_id if write_id > 0 else -1


_NAME = Rule(fold=_lower)
_CATALOG = Rule(default=DEFAULT_CATALOG, fold=_lower)
_EMPTY_LIST, _EMPTY_MAP, _ZERO, _FALSE = Rule([]), Rule({}), Rule(0), Rule(default=False)
_DROPPED = Rule(dropped=True)
_NO_SKEW: dict[str, Any] = {
    "skewedColNames": [],
    "skewedColValues": [],
    "skewedColValueLocationMaps": {},
}
_OWNER_TYPE = Rule(default=USER)
_ENABLED = {"enable_cstr": _FALSE, "validate_cstr": _FALSE, "rely_cstr": _FALSE}
_COLUMN = {
    "catName": _CATALOG,
    "table_db": _NAME,
    "table_name": _NAME,
    "column_name": _NAME,
    **_ENABLED,
}
_DESCRIPTOR = {
    "compressed": _FALSE,
    "numBuckets": _ZERO,
    "bucketCols": _EMPTY_LIST,
    "sortCols": _EMPTY_LIST,
    "parameters": _EMPTY_MAP,
    "skewedInfo": Rule(default=_NO_SKEW),
    "storedAsSubDirectories": _FALSE,
}
_TABLE = {
    "tableName": _NAME,
    "dbName": _NAME,
    "createTime": _ZERO,
    "lastAccessTime": _ZERO,
    "retention": _ZERO,
    "partitionKeys": _EMPTY_LIST,
    "parameters": _EMPTY_MAP,
    "privileges": _DROPPED,
    "temporary": Rule(default=False, fixed=True),
    "rewriteEnabled": _FALSE,
    "creationMetadata": _DROPPED,
    "catName": _CATALOG,
    "ownerType": _OWNER_TYPE,
    "isStatsCompliant": _DROPPED,
    "colStats": _DROPPED,
    "accessType": _DROPPED,
    "requiredReadCapabilities": _DROPPED,
    "requiredWriteCapabilities": _DROPPED,
    "fileMetadata": _DROPPED,
    "dictionary": _DROPPED,
    "txnId": _DROPPED,
}
_PARTITION = {
    "dbName": _NAME,
    "tableName": _NAME,
    "createTime": _ZERO,
    "lastAccessTime": _ZERO,
    "parameters": _EMPTY_MAP,
    "privileges": _DROPPED,
    "catName": _CATALOG,
    "writeId": Rule(default=-1, fold=_positive_or_minus_one),
    "isStatsCompliant": _DROPPED,
    "colStats": _DROPPED,
    "fileMetadata": _DROPPED,
}


def _variant(struct: Struct, **types: Type) -> Struct:
    """A struct with the same fields, some of them of another type."""
    fields = ((f.id, f.name, types.get(f.name, f.type)) for f in struct.fields)
    return Struct(struct.name, *fields)


_ACID_SERDE = _variant(SERDE_INFO)
_ACID_DESCRIPTOR = _variant(STORAGE_DESCRIPTOR, serdeInfo=_ACID_SERDE)
_ACID_TABLE = _variant(TABLE, sd=_ACID_DESCRIPTOR)
ACID_PARTITION = _variant(PARTITION, sd=_ACID_DESCRIPTOR)
"""A partition of a full ACID table as all reads except those by names return it."""

STORED_COLUMN = _variant(FIELD_SCHEMA)
_STORED_ORDER = _variant(ORDER)
STORED_DESCRIPTOR = _variant(
    STORAGE_DESCRIPTOR, cols=ListOf(STORED_COLUMN), sortCols=ListOf(_STORED_ORDER)
)
"""A partition's descriptor as the database holds it: an alter may have stored names of columns with
capitals."""

_RULES: dict[Struct, dict[str, Rule]] = {
    FIELD_SCHEMA: {"name": _NAME},
    _STORED_ORDER: {"order": _ZERO},
    STORED_DESCRIPTOR: _DESCRIPTOR,
    ORDER: {"col": Rule(fold=_identifier), "order": _ZERO},
    SERDE_INFO: {"parameters": _EMPTY_MAP},
    SKEWED_INFO: {name: Rule(default=value) for name, value in _NO_SKEW.items()},
    STORAGE_DESCRIPTOR: _DESCRIPTOR,
    TABLE: _TABLE,
    PARTITION: _PARTITION,
    _ACID_SERDE: {
        "parameters": Rule(default={}, fixed=True),
        "description": _DROPPED,
        "serializerClass": _DROPPED,
        "deserializerClass": _DROPPED,
        "serdeType": _DROPPED,
    },
    _ACID_DESCRIPTOR: {
        **_DESCRIPTOR,
        "sortCols": Rule(default=[], fixed=True),
        "parameters": Rule(default={}, fixed=True),
        "skewedInfo": Rule(default=_NO_SKEW, fixed=True),
    },
    _ACID_TABLE: _TABLE,
    ACID_PARTITION: _PARTITION,
    DATABASE: {
        "name": _NAME,
        "parameters": _EMPTY_MAP,
        "privileges": _DROPPED,
        "ownerType": _OWNER_TYPE,
        "catalogName": _CATALOG,
        "createTime": _ZERO,
        "type": Rule(default=_NATIVE),
    },
    FUNCTION: {
        "functionName": Rule(fold=_identifier),
        "dbName": _NAME,
        "createTime": _ZERO,
        "resourceUris": _EMPTY_LIST,
        "catName": _CATALOG,
    },
    PRIMARY_KEY: {**_COLUMN, "key_seq": _ZERO},
    UNIQUE_CONSTRAINT: {**_COLUMN, "key_seq": _ZERO},
    NOT_NULL_CONSTRAINT: _COLUMN,
    DEFAULT_CONSTRAINT: _COLUMN,
    CHECK_CONSTRAINT: _COLUMN,
    FOREIGN_KEY: {
        "pktable_db": _NAME,
        "pktable_name": _NAME,
        "pkcolumn_name": _NAME,
        "fktable_db": _NAME,
        "fktable_name": _NAME,
        "fkcolumn_name": _NAME,
        "key_seq": _ZERO,
        "update_rule": _ZERO,
        "delete_rule": _ZERO,
        "pk_name": Rule(fold=_identifier),
        "catName": _CATALOG,
        **_ENABLED,
    },
    COLUMN_STATISTICS_DESC: {"dbName": _NAME, "tableName": _NAME, "catName": _CATALOG},
    COLUMN_STATISTICS: {"isStatsCompliant": _DROPPED, "engine": Rule(default="hive")},
}


@cache
def canonical_fields(struct: Struct) -> tuple[CanonicalField, ...]:
    """The fields that the canonical form of a struct may hold, by ascending id."""
    rules = _RULES.get(struct, {})
    assert rules.keys() <= {field.name for field in struct.fields}
    return tuple(
        _canonical_field(field, rules.get(field.name, Rule()))
        for field in struct.fields
        if not rules.get(field.name, Rule()).dropped
    )


def _canonical_field(field: Field, rule: Rule) -> CanonicalField:
    return CanonicalField(field.id, field.name, field.type, rule.default, rule.fold, rule.fixed)


class TableForm(NamedTuple):
    """The parts of a table that depend on its type and parameters."""

    struct: Struct
    table_type: str
    is_view: bool


def table_form(
    table_type: str | None, parameters: Mapping[str, str], *, has_view_text: bool
) -> TableForm:
    """The form in which reads return a table of this type with these parameters.

    A table that was stored without a type counts as a view if it has a text, but its texts aren't
    returned.
    """
    is_view = table_type in ("VIRTUAL_VIEW", "MATERIALIZED_VIEW")
    if table_type is None and has_view_text:
        table_type = "VIRTUAL_VIEW"
    struct = _ACID_TABLE if is_full_acid(parameters) else TABLE
    return TableForm(struct, shown_type(table_type, parameters), is_view)


def shown_type(table_type: str | None, parameters: Mapping[str, str]) -> str:
    """The type that reads return: a parameter decides whether a table that is no view is
    external."""
    if table_type is not None and table_type not in ("MANAGED_TABLE", "EXTERNAL_TABLE"):
        return table_type
    external = parameters.get("EXTERNAL", "").lower() == "true"
    return "EXTERNAL_TABLE" if external else "MANAGED_TABLE"


def is_transactional(parameters: Mapping[str, str]) -> bool:
    """Whether a table with these parameters has write ids."""
    return parameters.get("transactional", "").lower() == "true"


def is_full_acid(parameters: Mapping[str, str]) -> bool:
    """Whether a table with these parameters takes updates and deletes, as the metastore reports it.
    A transactional table without the property that says which kind it is doesn't count: catalogs
    other than `hive` have such tables, since no listener adds the property there."""
    kind = parameters.get("transactional_properties", "")
    return is_transactional(parameters) and kind.lower() == "default"
