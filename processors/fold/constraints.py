"""Folds constraints of tables."""

from processors.fold.table_change import change_of
from processors.fold.working_set import WorkingSet
from processors.fold.write_ids import note_write
from state import keys
from state.records.actions import DropConstraint, PutConstraints
from state.stored_values import constraint_data


def put_constraints(work: WorkingSet, event: int, action: PutConstraints) -> None:
    change = change_of(work, action.table, event)
    change.state.detailed = True
    for image in action.constraints:
        key = keys.constraint(action.table, image.name, image.kind)
        change.put(key, constraint_data(image))
    note_write(change)


def drop_constraint(work: WorkingSet, event: int, action: DropConstraint) -> None:
    change = change_of(work, action.table, event)
    change.delete_below(keys.constraint_named(action.table, action.name))
    note_write(change)
