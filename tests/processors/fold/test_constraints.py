"""Constraints, which carry no write ids."""

import pytest

from state.records.actions import (
    AllocateWriteIds,
    AnyAction,
    CommitTxn,
    CreateTable,
    DropConstraint,
    PutConstraints,
)
from state.records.objects import ConstraintImage, ConstraintKind
from tests.processors.fold.shard import TABLE, Shard, change, managed, reader

PUT = PutConstraints(TABLE, (ConstraintImage(ConstraintKind.PRIMARY_KEY, "pk", (b"key",)),))


@pytest.mark.parametrize("action", [PUT, DropConstraint(TABLE, "pk")], ids=["added", "dropped"])
def test_a_constraint_is_pending_while_what_was_open_is(action: AnyAction) -> None:
    shard = Shard()
    allocated = change(2, AllocateWriteIds(TABLE, (1,), (1,)))
    shard.fold(change(1, CreateTable(managed())), allocated, change(3, action))
    state = shard.state()
    assert state is not None
    assert state.is_pending(reader(shard).write_ids(TABLE))
    shard.fold(change(4, CommitTxn(1, None)))
    assert not state.is_pending(reader(shard).write_ids(TABLE))
