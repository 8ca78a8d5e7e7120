"""What records carry of an object: its canonical Thrift bytes, and beside them what the fold needs.

The fold never decodes the bytes of an event, so everything that decides is spelled out here.
"""

from enum import IntEnum
from hashlib import blake2b

import msgspec

from hive.column_statistics import has_figures
from hive.names import TableName
from hive.thrift.binary import decode
from hive.thrift.statistics import COLUMN_STATISTICS_DATA, COLUMN_STATISTICS_OBJ
from hive.thrift.types import Struct
from state.records.numbers import Long, Word

_KIND_BITS = 16
_UNTOLD = 1 << 30
INCOMPLETE_FIELDS = 1 << 31
"""Of statistics that lack a figure without which the metastore tells none of the column."""


def fingerprint(data: bytes) -> int:
    """Tells an object's bytes from others without carrying them."""
    return int.from_bytes(blake2b(data, digest_size=8).digest())


def statistics_fields(data: bytes) -> int:
    """A bit for the kind of a ColumnStatisticsObj, and one for each field that is set in it."""
    column = decode(COLUMN_STATISTICS_OBJ, data)
    values = column.get("statsData")
    if not values:
        return INCOMPLETE_FIELDS if has_figures(column["colType"]) else _UNTOLD
    bits = 0
    for kind in COLUMN_STATISTICS_DATA.fields:
        found = values.get(kind.name)
        if found is not None:
            assert isinstance(kind.type, Struct)
            bits |= 1 << _KIND_BITS + kind.id
            bits |= sum(1 << field.id for field in kind.type.fields if field.name in found)
    return bits


class DatabaseName(msgspec.Struct, frozen=True, array_like=True):
    """A database's full name, in lower case."""

    catalog: str
    db: str


class TableImage(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A table as it was after an event, or as a load read it."""

    name: TableName
    id: Long
    write_id: Long
    """The write id that the object carries; 0 or less for none."""
    managed: bool
    """Transactional: its reads may be checked by write ids."""
    partitioned: bool
    data: bytes


class PartitionImage(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A partition as it was after an event, or as a load read it."""

    values: tuple[str, ...]
    write_id: Long
    columns_hash: Word
    """Tells whether its columns changed, without its bytes."""
    data: bytes


class ColumnStatisticsImage(msgspec.Struct, frozen=True, array_like=True):
    """The statistics of one column, of a table or (with values) of a partition."""

    values: tuple[str, ...] | None
    engine: str
    column: str
    write_id: Long
    """The write id that they were computed at; 0 or less for none."""
    last_analyzed: Long
    """Seconds since 1970, a field of the description that all columns of one answer share."""
    data: bytes
    """A ColumnStatisticsObj."""
    fields: int = 0
    """Which of its fields are set: an update keeps those of before that it doesn't set."""


class ConstraintKind(IntEnum):
    """The numbers are those of KEY_CONSTRAINTS.CONSTRAINT_TYPE."""

    PRIMARY_KEY = 0
    FOREIGN_KEY = 1
    UNIQUE = 2
    NOT_NULL = 3
    DEFAULT = 4
    CHECK = 5


class ConstraintImage(msgspec.Struct, frozen=True, array_like=True):
    """One constraint: a Thrift struct for each of its columns, in order; none of a foreign key
    whose parent has no primary key."""

    kind: ConstraintKind
    name: str
    columns: tuple[bytes, ...]


class NameImage(msgspec.Struct, frozen=True, array_like=True):
    """What a list of tables shows of each."""

    table: str
    type: str
    owner: str
    comment: str | None


class FunctionImage(msgspec.Struct, frozen=True, array_like=True):
    """A function."""

    name: str
    data: bytes


class DatabaseImage(msgspec.Struct, frozen=True, array_like=True):
    """A database."""

    name: DatabaseName
    data: bytes


class WriteIdsImage(msgspec.Struct, frozen=True, array_like=True):
    """A table's rows of TXN_TO_WRITE_ID and NEXT_WRITE_ID as a load read them."""

    high: Long
    open: tuple[tuple[Long, Long], ...]
    """(transaction, write id) of transactions that are open."""
    aborted: tuple[Long, ...]
