"""Folds constraints of tables."""

from processors.fold.entries import delete_below, put
from processors.fold.working_set import WorkingSet
from processors.fold.write_ids import note_write
from state import keys
from state.records.actions import DropConstraint, PutConstraints
from state.stored_values import constraint_data


def put_constraints(work: WorkingSet, event: int, action: PutConstraints) -> None:
    state = work.touch_table(action.table)
    state.detailed = True
    for image in action.constraints:
        key = keys.constraint(action.table, image.name, image.kind)
        put(work, state.loads, key, event, constraint_data(image))
    note_write(work, action.table, state, event)


def drop_constraint(work: WorkingSet, event: int, action: DropConstraint) -> None:
    state = work.touch_table(action.table)
    prefix = keys.constraint_named(action.table, action.name)
    delete_below(work, state.loads, prefix, event)
    note_write(work, action.table, state, event)
