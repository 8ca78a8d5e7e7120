"""The properties of a stored table that decide how it and its partitions are shown."""

from typing import Final, NamedTuple

from hive.filters.semantics import KeyType, kind_of
from hive.names import default_catalog
from hive.thrift.types import STRUCT
from hive.thrift.view import TableView, View
from query_api.remembered import remembered

_DESCRIPTOR, _KEYS, _CATALOG = 7, 8, 17
_COLUMNS, _BUCKETS, _SERDE, _LIBRARY = 1, 6, 7, 2
_NO_STRUCTS: Final = bytes((STRUCT, 0, 0, 0, 0))


class TableTraits(NamedTuple):
    """The properties of a table, read from its bytes once."""

    type: str
    catalog: str
    keys: tuple[str, ...]
    """The names of its partition columns."""
    buckets: int
    transactional: bool
    """Whether the table has write ids."""
    transactional_text: str
    """The stored value of the property `transactional`, in lower case."""
    kind: str
    """The stored value of `transactional_properties`, in lower case."""
    asks_for: str | None
    """The capabilities that the table itself requires of clients."""
    has_partition_privileges: bool
    timestamp_keys: frozenset[str]
    """The names of those partition columns that are timestamps."""

    @property
    def in_default_catalog(self) -> bool:
        return self.catalog == default_catalog()

    @property
    def full_acid(self) -> bool:
        return self.transactional and self.kind == "default"

    @property
    def insert_only(self) -> bool:
        return self.kind == "insert_only"


@remembered(2048)
def table_traits(data: bytes) -> TableTraits:
    """The properties of a table."""
    view = TableView(data)
    descriptor = view.struct(_DESCRIPTOR)
    transactional = (view.parameter("transactional") or "").lower()
    kind = (view.parameter("transactional_properties") or "").lower()
    return TableTraits(
        view.table_type,
        view.text(_CATALOG) or default_catalog(),
        view.partition_keys,
        0 if descriptor is None else descriptor.i32(_BUCKETS) or 0,
        transactional == "true",
        transactional,
        kind,
        view.parameter("OBJCAPABILITIES"),
        (view.parameter("PARTITION_LEVEL_PRIVILEGE") or "").lower() == "true",
        frozenset(
            (key.text(1) or "").lower()
            for key in view.structs(_KEYS)
            if kind_of(key.text(2) or "") is KeyType.TIMESTAMP
        ),
    )


def library(table: bytes) -> str | None:
    """The class of a table's serde."""
    descriptor = View(table).struct(_DESCRIPTOR)
    serde = None if descriptor is None else descriptor.struct(_SERDE)
    return None if serde is None else serde.text(_LIBRARY)


def columns(table: bytes) -> bytes:
    """The list of a table's columns."""
    descriptor = View(table).struct(_DESCRIPTOR)
    return (descriptor and descriptor.raw(_COLUMNS)) or _NO_STRUCTS


def columns_and_keys(table: bytes) -> bytes:
    """A table's columns and partition keys in one list."""
    first, second = columns(table), View(table).raw(_KEYS) or _NO_STRUCTS
    count = int.from_bytes(first[1:5]) + int.from_bytes(second[1:5])
    return bytes((STRUCT,)) + count.to_bytes(4) + first[5:] + second[5:]
