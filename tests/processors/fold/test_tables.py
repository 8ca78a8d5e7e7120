"""What becomes of a table that gets another name."""

import pytest

from state.records import SetLists
from state.records.actions import CreateTable, RenameTable, Side
from state.records.objects import TableImage
from state.shard_reader import ShardReader
from tests.processors.fold.shard import TABLE, Shard, change, image

NEW = TABLE._replace(table="u")


def renamed(sides: Side) -> RenameTable:
    return RenameTable(TABLE, TableImage(NEW, 7, 0, False, True, b"table"), sides)


def known(shard: Shard) -> set[str]:
    return {name.table for name in ShardReader(shard.store.snapshot()).table_names()}


@pytest.mark.parametrize(
    ("sides", "names"), [(Side.OLD, set()), (Side.NEW, {"t", "u"}), (Side.BOTH, {"u"})]
)
def test_a_shard_folds_its_half_of_a_rename(sides: Side, names: set[str]) -> None:
    shard = Shard()
    shard.fold(change(1, CreateTable(image())), change(2, renamed(sides)))
    assert known(shard) == names


def test_a_name_that_the_lists_leave_out_is_not_kept() -> None:
    shard = Shard()
    shard.fold(SetLists(0, 1, ("db.t",), ()), change(1, CreateTable(image())))
    shard.fold(change(2, renamed(Side.BOTH)))
    assert known(shard) == set()
