"""Objects in records: their canonical Thrift bytes, and beside them what the fold needs.

The fold never decodes the bytes of an event, so all that its decisions depend on is a field here.
"""

from enum import IntEnum
from hashlib import blake2b

import msgspec

from hive.column_statistics import figures_kind
from hive.names import DatabaseName, TableName
from hive.thrift.constraints import (
    CHECK_CONSTRAINT,
    DEFAULT_CONSTRAINT,
    FOREIGN_KEY,
    NOT_NULL_CONSTRAINT,
    PRIMARY_KEY,
    UNIQUE_CONSTRAINT,
)
from hive.thrift.view import View
from state.records.numbers import Long, Word

_COLUMN_TYPE, _COLUMN_FIGURES = 2, 3
_KIND_BITS = 16
_UNTOLD = 1 << 30
INCOMPLETE_FIELDS = 1 << 31
"""The bit for statistics that lack a required figure: the metastore returns none of them."""


def fingerprint(data: bytes) -> int:
    """A hash of an object's bytes, which tells two states apart without carrying them."""
    return int.from_bytes(blake2b(data, digest_size=8).digest())


def statistics_fields(data: bytes) -> int:
    """One bit for the kind of a ColumnStatisticsObj, and one for each field that is set in it."""
    column = View(data)
    values = column.struct(_COLUMN_FIGURES)
    kinds = [] if values is None else values.ids()
    if values is None or not kinds:
        type_ = column.text(_COLUMN_TYPE) or ""
        return _UNTOLD if figures_kind(type_) is None else INCOMPLETE_FIELDS
    bits = 0
    for kind in kinds:
        figures = values.struct(kind)
        assert figures is not None
        bits |= 1 << _KIND_BITS + kind
        for id_ in figures.ids():
            if 0 < id_ < _KIND_BITS:
                bits |= 1 << id_
    return bits


class TableImage(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A table after an event, or as a load read it."""

    name: TableName
    id: Long
    write_id: Long
    """The write id that the object carries; 0 or less for none."""
    managed: bool
    """Whether the table is transactional, so that readers may check it by write ids."""
    partitioned: bool
    data: bytes


class PartitionImage(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A partition after an event, or as a load read it."""

    values: tuple[str, ...]
    write_id: Long
    """The stored one, as in the bytes."""
    columns_hash: Word
    """A hash of its columns, which shows whether they changed."""
    data: bytes
    """Empty if the event doesn't tell what was stored."""


class ColumnStatisticsImage(msgspec.Struct, frozen=True, array_like=True):
    """The statistics of one column, of a table or (with values) of a partition."""

    values: tuple[str, ...] | None
    engine: str
    column: str
    write_id: Long
    """The write id at which they were computed; 0 or less for none."""
    last_analyzed: Long
    """Seconds since 1970, a field that all columns of one answer share."""
    data: bytes
    """A ColumnStatisticsObj."""
    fields: Word = 0
    """The fields that are set: an update keeps the values of those that it doesn't set."""


class ConstraintKind(IntEnum):
    """The kinds of constraints, with the numbers of KEY_CONSTRAINTS.CONSTRAINT_TYPE."""

    PRIMARY_KEY = 0
    FOREIGN_KEY = 1
    UNIQUE = 2
    NOT_NULL = 3
    DEFAULT = 4
    CHECK = 5


CONSTRAINTS = {
    ConstraintKind.PRIMARY_KEY: ("primary_key", PRIMARY_KEY),
    ConstraintKind.FOREIGN_KEY: ("foreign_key", FOREIGN_KEY),
    ConstraintKind.UNIQUE: ("unique", UNIQUE_CONSTRAINT),
    ConstraintKind.NOT_NULL: ("not_null", NOT_NULL_CONSTRAINT),
    ConstraintKind.DEFAULT: ("default", DEFAULT_CONSTRAINT),
    ConstraintKind.CHECK: ("check", CHECK_CONSTRAINT),
}
"""The name of each kind, and the struct of its columns."""


class ConstraintImage(msgspec.Struct, frozen=True, array_like=True):
    """A constraint: one Thrift struct for each of its columns, in order; none for a foreign key
    whose parent has no primary key."""

    kind: ConstraintKind
    name: str
    columns: tuple[bytes, ...]


class NameImage(msgspec.Struct, frozen=True, array_like=True):
    """A table's line in a list of tables."""

    table: str
    type: str
    owner: str | None
    comment: str | None
    owner_type: int


class FunctionImage(msgspec.Struct, frozen=True, array_like=True):
    name: str
    data: bytes


class DatabaseImage(msgspec.Struct, frozen=True, array_like=True):
    name: DatabaseName
    data: bytes


class WriteIdsImage(msgspec.Struct, frozen=True, array_like=True):
    """A table's rows of TXN_TO_WRITE_ID and NEXT_WRITE_ID, as a load read them."""

    high: Long
    open: tuple[tuple[Long, Long], ...]
    """The (transaction, write id) pairs of open transactions."""
    aborted: tuple[Long, ...]
