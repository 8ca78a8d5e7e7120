"""Calls that give the constraints of a table, of one kind or all."""

from collections.abc import Sequence
from typing import ClassVar, Final

from hive.errors import InputError
from hive.names import TableName
from hive.thrift.types import LIST
from hive.thrift.view import View
from hive.thrift.wire import FIELD
from query_api.objects import Objects
from query_api.targets import Target, TargetKind
from query_api.thrift.call import RelayReason
from query_api.thrift.methods import names
from query_api.thrift.methods.outcome import Outcome, structs
from query_api.thrift.methods.request import (
    Arguments,
    Understood,
    of_request,
    refuse_unknown,
)
from query_api.thrift.methods.table_method import TableMethod
from state.records.objects import ConstraintKind

_ALL: Final = (
    ConstraintKind.PRIMARY_KEY,
    ConstraintKind.FOREIGN_KEY,
    ConstraintKind.UNIQUE,
    ConstraintKind.NOT_NULL,
    ConstraintKind.DEFAULT,
    ConstraintKind.CHECK,
)
"""The kinds, in the order of the fields of an answer with all of them."""


class Constraints(TableMethod, frozen=True, kw_only=True):
    """Constraints of one kind; foreign keys belong to the child."""

    kind: ConstraintKind
    parent: tuple[str, str] | None = None
    """The parent's database and name, if only its foreign keys are wanted."""

    @property
    def needed(self) -> tuple[Target, ...]:
        return (Target(TargetKind.CONSTRAINTS, self.table, constraints=self.kind),)

    def of(self, table: bytes, objects: Objects) -> Outcome:
        columns = columns_of(objects, self.table)[self.kind]
        if self.parent is not None:
            columns = [column for column in columns if _parent(column) == self.parent]
        return structs(columns)


class AllConstraints(TableMethod, frozen=True, kw_only=True):
    """Constraints of all kinds."""

    needs: ClassVar[tuple[TargetKind, ...]] = (TargetKind.CONSTRAINTS,)

    def of(self, table: bytes, objects: Objects) -> Outcome:
        by_kind = columns_of(objects, self.table)
        return all_kinds([by_kind[kind] for kind in _ALL])


def get_primary_keys(arguments: Arguments) -> Understood:
    return _of_kind(arguments, ConstraintKind.PRIMARY_KEY)


def get_unique_constraints(arguments: Arguments) -> Understood:
    return _of_kind(arguments, ConstraintKind.UNIQUE)


def get_not_null_constraints(arguments: Arguments) -> Understood:
    return _of_kind(arguments, ConstraintKind.NOT_NULL)


def get_default_constraints(arguments: Arguments) -> Understood:
    return _of_kind(arguments, ConstraintKind.DEFAULT)


def get_check_constraints(arguments: Arguments) -> Understood:
    return _of_kind(arguments, ConstraintKind.CHECK)


def get_foreign_keys(arguments: Arguments) -> Understood:
    """The foreign keys of a child. The cache can't look them up by the parent alone."""
    request = arguments["request"]
    refuse_unknown(request)
    if not request.get("foreign_tbl_name"):
        return RelayReason.FORM
    table = names.table_in_catalog(request, "foreign_db_name", "foreign_tbl_name")
    parent = request.get("parent_db_name"), request.get("parent_tbl_name")
    if (parent[0] is None) != (parent[1] is None):
        raise InputError("the parent has a database or a name, but not both")
    read = Constraints(
        table,
        missing=structs([]),
        kind=ConstraintKind.FOREIGN_KEY,
        parent=None if parent[0] is None else (parent[0].lower(), parent[1].lower()),
    )
    return of_request(read, request, table, "tableId")


def get_all_table_constraints(arguments: Arguments) -> Understood:
    request = arguments["request"]
    refuse_unknown(request)
    names.refuse_without_catalog(request)
    table = names.table_in_catalog(request)
    read = AllConstraints(table, missing=all_kinds([[] for _ in _ALL]))
    return of_request(read, request, table, "tableId")


def columns_of(objects: Objects, table: TableName) -> dict[ConstraintKind, list[bytes]]:
    """The columns of a table's constraints as structs, by kind."""
    by_kind: dict[ConstraintKind, list[bytes]] = {kind: [] for kind in ConstraintKind}
    for constraint in sorted(objects.constraints(table), key=lambda constraint: constraint.name):
        by_kind[constraint.kind] += constraint.columns
    return by_kind


def all_kinds(lists: Sequence[Sequence[bytes]]) -> bytes:
    """A SQLAllTableConstraints."""
    fields = (
        FIELD.pack(LIST, number) + structs(columns) for number, columns in enumerate(lists, 1)
    )
    return b"".join([*fields, b"\0"])


def _of_kind(arguments: Arguments, kind: ConstraintKind) -> Understood:
    request = arguments["request"]
    refuse_unknown(request)
    if kind is not ConstraintKind.PRIMARY_KEY:
        names.refuse_without_catalog(request)
    table = names.table_in_catalog(request, "db_name", "tbl_name")
    read = Constraints(table, missing=structs([]), kind=kind)
    return of_request(read, request, table, "tableId")


def _parent(foreign_key: bytes) -> tuple[str, str]:
    view = View(foreign_key)
    return view.text(1) or "", view.text(2) or ""
