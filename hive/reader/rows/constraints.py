"""Constraints: a row of KEY_CONSTRAINTS for each of their columns."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from hive.thrift.binary import encode
from hive.thrift.constraints import (
    CHECK_CONSTRAINT,
    DEFAULT_CONSTRAINT,
    FOREIGN_KEY,
    NOT_NULL_CONSTRAINT,
    PRIMARY_KEY,
    UNIQUE_CONSTRAINT,
)
from hive.thrift.types import Struct

FOREIGN = 1
"""CONSTRAINT_TYPE of a foreign key."""

_OTHERS: dict[int, tuple[Struct, str]] = {
    0: (PRIMARY_KEY, "pk_name"),
    2: (UNIQUE_CONSTRAINT, "uk_name"),
    3: (NOT_NULL_CONSTRAINT, "nn_name"),
    4: (DEFAULT_CONSTRAINT, "dc_name"),
    5: (CHECK_CONSTRAINT, "dc_name"),
}
_ENABLE, _VALIDATE, _RELY = 4, 2, 1


class ConstraintRow(NamedTuple):
    """A row of KEY_CONSTRAINTS with names in place of ids.

    `table` is the table that has the constraint (for a foreign key, the child). The fields
    `parent_…` say what a foreign key points to, and are null for other kinds.
    """

    table: int
    kind: int
    name: str
    position: int
    catalog: str | None
    db: str
    table_name: str
    column: str | None
    flags: int
    text: str | None
    """The default value, or the checked expression."""
    parent_db: str | None
    parent_table: str | None
    parent_column: str | None
    parent_key: str | None
    """Null when the parent has no primary key on this column."""
    update_rule: int | None
    delete_rule: int | None


class StoredConstraint(NamedTuple):
    """A constraint as it is stored: one struct for each column that is shown, in order."""

    table: int
    kind: int
    name: str
    columns: tuple[bytes, ...]


def stored_constraints(rows: Iterable[tuple[Any, ...]]) -> list[StoredConstraint]:
    """The constraints of rows with the fields of `ConstraintRow`."""
    columns_of: dict[tuple[int, int, str], list[tuple[int, bytes]]] = {}
    for row in rows:
        own = ConstraintRow(*row)
        key = own.table, own.kind, own.name.lower()
        columns = columns_of.setdefault(key, [])
        if own.kind != FOREIGN:
            columns.append((own.position, _other(own)))
        elif own.parent_key is not None:
            columns.append((own.position, _foreign(own)))
    return [
        StoredConstraint(*key, tuple(data for _, data in sorted(columns)))
        for key, columns in sorted(columns_of.items())
    ]


def _other(row: ConstraintRow) -> bytes:
    struct, name_field = _OTHERS[row.kind]
    names = {field.name for field in struct.fields}
    mapping = {
        "catName": row.catalog,
        "table_db": row.db,
        "table_name": row.table_name,
        "column_name": row.column,
        "key_seq": row.position,
        name_field: row.name,
        "default_value": row.text,
        "check_expression": row.text,
        **_flags(row.flags),
    }
    return encode(struct, {name: value for name, value in mapping.items() if name in names})


def _foreign(row: ConstraintRow) -> bytes:
    return encode(
        FOREIGN_KEY,
        {
            "pktable_db": row.parent_db,
            "pktable_name": row.parent_table,
            "pkcolumn_name": row.parent_column,
            "fktable_db": row.db,
            "fktable_name": row.table_name,
            "fkcolumn_name": row.column,
            "key_seq": row.position,
            "update_rule": row.update_rule,
            "delete_rule": row.delete_rule,
            "fk_name": row.name,
            "pk_name": row.parent_key,
            "catName": row.catalog,
            **_flags(row.flags),
        },
    )


def _flags(flags: int) -> dict[str, bool]:
    return {
        "enable_cstr": bool(flags & _ENABLE),
        "validate_cstr": bool(flags & _VALIDATE),
        "rely_cstr": bool(flags & _RELY),
    }
