"""Constraints: primary and foreign keys, unique, not null, default, check."""

from typing import NamedTuple

from metatide.demo import notifications
from metatide.demo.actor import Actor
from metatide.demo.changes import Change, Delete, Insert, Update
from metatide.demo.objects import Columns, Constraint, Table
from metatide.demo.records import Notification
from metatide.demo.structs import CATALOG, Struct

CONSTRAINTS_MAX = 8
"""A table that has this many constraints gets no more."""


class Form(NamedTuple):
    """How the metastore numbers and names one kind of constraint."""

    type: int
    prefix: str
    name_field: str
    fields: dict[str, str | int]
    default: str | None = None


PRIMARY = Form(0, "pk", "pk_name", {"key_seq": 1})
UNIQUE = Form(2, "uk", "uk_name", {"key_seq": 1})
NOT_NULL = Form(3, "nn", "nn_name", {})
DEFAULT = Form(4, "dc", "dc_name", {"default_value": "'x'"}, "'x'")
CHECK = Form(5, "cc", "dc_name", {"check_expression": "id > 0"}, "id > 0")
FOREIGN_TYPE = 1
FORMS = (PRIMARY, UNIQUE, NOT_NULL, NOT_NULL, DEFAULT, CHECK)
"""The forms that `add` chooses from; NOT NULL is twice as likely."""

RELY = 1


def add(actor: Actor, table: Table) -> None:
    """ALTER TABLE ADD CONSTRAINT."""
    change, event = adding(actor, table)
    if event:
        actor.write(change, event)


def adding(actor: Actor, table: Table) -> tuple[list[Change], Notification | None]:
    """A new constraint on one column. A table has at most one of each kind, except NOT NULL."""
    form = actor.rng.choice(FORMS)
    place = 1 if form is DEFAULT else 0
    name = f"{form.prefix}_{table.id}"
    if form is NOT_NULL:
        place = actor.rng.randrange(len(table.storage.columns.fields))
        name = f"{name}_{place}"
    if name in table.constraints or len(table.constraints) >= CONSTRAINTS_MAX:
        return [], None
    table.constraints[name] = Constraint(name)
    struct: Struct = {
        "catName": CATALOG,
        "table_db": table.database.name,
        "table_name": table.name,
        "column_name": table.storage.columns.fields[place].name,
        form.name_field: name,
        "enable_cstr": False,
        "validate_cstr": False,
        "rely_cstr": True,
        **form.fields,
    }
    row = {
        "PARENT_TBL_ID": table.id,
        "CONSTRAINT_NAME": name,
        "POSITION": 1,
        "PARENT_CD_ID": table.storage.columns.id,
        "PARENT_INTEGER_IDX": place,
        "CONSTRAINT_TYPE": form.type,
        "ENABLE_VALIDATE_RELY": RELY,
        "DEFAULT_VALUE": form.default,
    }
    return [Insert("KEY_CONSTRAINTS", [row])], notifications.add_constraint(
        table, form.type, struct
    )


def add_foreign_key(actor: Actor, child: Table, parent: Table) -> None:
    """ALTER TABLE ADD CONSTRAINT … FOREIGN KEY that refers to the parent's primary key."""
    key, name = f"pk_{parent.id}", f"fk_{child.id}_{parent.id}"
    if key not in parent.constraints or name in child.constraints:
        return
    child.constraints[name] = Constraint(name, parent)
    struct: Struct = {
        "catName": CATALOG,
        "pktable_db": parent.database.name,
        "pktable_name": parent.name,
        "pkcolumn_name": parent.storage.columns.fields[0].name,
        "fktable_db": child.database.name,
        "fktable_name": child.name,
        "fkcolumn_name": child.storage.columns.fields[0].name,
        "key_seq": 1,
        "update_rule": 0,
        "delete_rule": 0,
        "fk_name": name,
        "pk_name": key,
        "enable_cstr": False,
        "validate_cstr": False,
        "rely_cstr": True,
    }
    row = {
        "PARENT_TBL_ID": parent.id,
        "CONSTRAINT_NAME": name,
        "POSITION": 1,
        "PARENT_CD_ID": parent.storage.columns.id,
        "PARENT_INTEGER_IDX": 0,
        "CHILD_TBL_ID": child.id,
        "CHILD_CD_ID": child.storage.columns.id,
        "CHILD_INTEGER_IDX": 0,
        "CONSTRAINT_TYPE": FOREIGN_TYPE,
        "UPDATE_RULE": 0,
        "DELETE_RULE": 0,
        "ENABLE_VALIDATE_RELY": RELY,
    }
    event = notifications.add_constraint(parent, FOREIGN_TYPE, struct)
    actor.write([Insert("KEY_CONSTRAINTS", [row])], event)


def drop(actor: Actor, table: Table) -> None:
    """ALTER TABLE DROP CONSTRAINT; a foreign key may already be gone along with its parent."""
    own = [name for name, each in table.constraints.items() if each.parent is None]
    if own:
        name = actor.rng.choice(own)
        del table.constraints[name]
        row = {"PARENT_TBL_ID": table.id, "CONSTRAINT_NAME": name}
        actor.write([Delete("KEY_CONSTRAINTS", [row])], notifications.drop_constraint(table, name))


def delete_constraints(table: Table) -> list[Change]:
    """Deletes all constraints of a dropped table, and the foreign keys that refer to it."""
    table.constraints.clear()
    return [
        Delete("KEY_CONSTRAINTS", [{"PARENT_TBL_ID": table.id}]),
        Delete("KEY_CONSTRAINTS", [{"CHILD_TBL_ID": table.id}]),
    ]


def follow_columns(table: Table, columns: Columns) -> list[Change]:
    """Moves the table's constraints to its new column descriptor; columns keep their places."""
    parent = {"PARENT_TBL_ID": table.id, "PARENT_CD_ID": columns.id}
    child = {"CHILD_TBL_ID": table.id, "CHILD_CD_ID": columns.id}
    return [
        Update("KEY_CONSTRAINTS", ("PARENT_TBL_ID",), [parent]),
        Update("KEY_CONSTRAINTS", ("CHILD_TBL_ID",), [child]),
    ]
