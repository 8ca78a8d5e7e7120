"""Writes constraints."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from tests.differential.names import Names
from tests.differential.writers.base import Base
from tests.support.hive import idl

Place = tuple[str, str]


class Named(NamedTuple):
    """A new constraint; `parent` is the database, table and column that a foreign key refers to."""

    kind: str
    name: str
    column: str
    parent: tuple[str, str, str] | None = None

    def __repr__(self) -> str:
        return repr(tuple(self))


class ConstraintForm(NamedTuple):
    """The names that the interface uses for one kind of constraint."""

    field: str
    """The field of a request to create a table."""
    add: str
    request: str
    columns: str
    """The field of the request to add a constraint."""
    struct: Callable[[Names, Place, Named], Any]


def _rely() -> dict[str, bool]:
    return {"enable_cstr": False, "validate_cstr": False, "rely_cstr": True}


def _of(place: Place, one: Named) -> dict[str, Any]:
    placed = {"catName": "hive", "table_db": place[0], "table_name": place[1]}
    return {**placed, "column_name": one.column, **_rely()}


def _primary(names: Names, place: Place, one: Named) -> Any:
    return idl.load().SQLPrimaryKey(key_seq=1, pk_name=names.full(one.name), **_of(place, one))


def _unique(names: Names, place: Place, one: Named) -> Any:
    made = idl.load().SQLUniqueConstraint
    return made(key_seq=1, uk_name=names.full(one.name), **_of(place, one))


def _not_null(names: Names, place: Place, one: Named) -> Any:
    return idl.load().SQLNotNullConstraint(nn_name=names.full(one.name), **_of(place, one))


def _default(names: Names, place: Place, one: Named) -> Any:
    made = idl.load().SQLDefaultConstraint
    return made(default_value="1", dc_name=names.full(one.name), **_of(place, one))


def _check(names: Names, place: Place, one: Named) -> Any:
    made = idl.load().SQLCheckConstraint
    return made(check_expression="x > 1", dc_name=names.full(one.name), **_of(place, one))


def _foreign(names: Names, place: Place, foreign: Named) -> Any:
    parent_db, parent, column = foreign.parent or ("a", "a", "id")
    return idl.load().SQLForeignKey(
        pktable_db=names.full(parent_db),
        pktable_name=names.full(parent),
        pkcolumn_name=column,
        fktable_db=place[0],
        fktable_name=place[1],
        fkcolumn_name=foreign.column,
        key_seq=1,
        update_rule=0,
        delete_rule=0,
        fk_name=names.full(foreign.name),
        catName="hive",
        **_rely(),
    )


# The kinds, in the order in which create_table_with_constraints takes them.
of_kind = {
    "primary": ConstraintForm(
        "primaryKeys", "add_primary_key", "AddPrimaryKeyRequest", "primaryKeyCols", _primary
    ),
    "foreign": ConstraintForm(
        "foreignKeys", "add_foreign_key", "AddForeignKeyRequest", "foreignKeyCols", _foreign
    ),
    "unique": ConstraintForm(
        "uniqueConstraints",
        "add_unique_constraint",
        "AddUniqueConstraintRequest",
        "uniqueConstraintCols",
        _unique,
    ),
    "not_null": ConstraintForm(
        "notNullConstraints",
        "add_not_null_constraint",
        "AddNotNullConstraintRequest",
        "notNullConstraintCols",
        _not_null,
    ),
    "default": ConstraintForm(
        "defaultConstraints",
        "add_default_constraint",
        "AddDefaultConstraintRequest",
        "defaultConstraintCols",
        _default,
    ),
    "check": ConstraintForm(
        "checkConstraints",
        "add_check_constraint",
        "AddCheckConstraintRequest",
        "checkConstraintCols",
        _check,
    ),
}


def columns_of(names: Names, place: Place, kind: str, named: Sequence[Any]) -> list[Any]:
    """The structs of a table's new constraints of one kind."""
    struct = of_kind[kind].struct
    return [struct(names, place, Named(*one)) for one in named if one[0] == kind]


class Constraints(Base):
    """Adds and drops constraints."""

    def add_constraint(self, db: str, table: str, named: Sequence[Any]) -> None:
        kind = of_kind[named[0]]
        columns = columns_of(self.names, self.place(db, table), named[0], [named])
        request = getattr(self.t, kind.request)(**{kind.columns: columns})
        getattr(self.rpc, kind.add)(request)

    def drop_constraint(self, db: str, table: str, name: str) -> None:
        full_db, full = self.place(db, table)
        request = self.t.DropConstraintRequest(
            catName="hive", dbname=full_db, tablename=full, constraintname=self.names.full(name)
        )
        self.rpc.drop_constraint(request)
