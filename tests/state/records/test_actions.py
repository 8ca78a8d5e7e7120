from typing import get_args

import pytest

from hive.names import DatabaseName, TableName, table_name
from state.records import actions
from state.records.actions import AnyAction, Side, subject_of
from state.records.objects import (
    DatabaseImage,
    FunctionImage,
    NameImage,
    PartitionImage,
    TableImage,
)

TABLE, DB = table_name(None, "db", "t"), DatabaseName("hive", "db")
IMAGE = TableImage(TABLE, 1, 0, False, True, b"")
PARTITION = PartitionImage(("a",), 1, 1, b"")
SUBJECTS: tuple[tuple[AnyAction, TableName | DatabaseName | None], ...] = (
    (actions.CreateTable(IMAGE), TABLE),
    (actions.AlterTable(IMAGE, None, rewrites=False, truncates=False), TABLE),
    (actions.RenameTable(table_name(None, "db", "old"), IMAGE, Side.OLD), TABLE),
    (actions.DropTable(TABLE), TABLE),
    (actions.PutPartitions(TABLE, 1, (PARTITION,), added=True), TABLE),
    (actions.AlterPartition(TABLE, 1, ("b",), None, PARTITION, truncates=False), TABLE),
    (actions.DropPartitions(TABLE, (("a",),)), TABLE),
    (actions.PutTableStatistics(TABLE, 1, (), None), TABLE),
    (actions.PutPartitionStatistics(TABLE, 1, ("a",), (), None), TABLE),
    (actions.DropStatistics(TABLE, None, None), TABLE),
    (actions.PutConstraints(TABLE, ()), TABLE),
    (actions.DropConstraint(TABLE, "key"), TABLE),
    (actions.AllocateWriteIds(TABLE, (1,), (2,)), TABLE),
    (actions.CommitTxn(1, (("db", 2),)), None),
    (actions.AbortTxn(1), None),
    (actions.PutDatabase(DatabaseImage(DB, b"")), DB),
    (actions.DropDatabase(DB), DB),
    (actions.CreateNames(DB), DB),
    (actions.PutName(DB, NameImage("t", "", None, None, 1)), DB),
    (actions.DropName(DB, "t"), DB),
    (actions.PutFunction(DB, FunctionImage("f", b"")), DB),
    (actions.DropFunction(DB, "f"), DB),
    (actions.Undecodable(TABLE), TABLE),
    (actions.Undecodable(None), None),
    (actions.Misnamed(TABLE), TABLE),
)


@pytest.mark.parametrize(
    ("action", "subject"), SUBJECTS, ids=[type(action).__name__ for action, _ in SUBJECTS]
)
def test_the_subject_of_each_action(
    action: AnyAction, subject: TableName | DatabaseName | None
) -> None:
    assert subject_of(action) == subject
    assert type(subject_of(action)) is type(subject)


def test_each_type_of_action_has_a_subject() -> None:
    assert {type(action) for action, _ in SUBJECTS} == set(get_args(AnyAction))
