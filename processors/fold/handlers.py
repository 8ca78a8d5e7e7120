"""The function that folds each kind of action and record."""

from collections.abc import Callable
from typing import Any, Final

from hive.names import TableName
from processors.fold import (
    constraints,
    control,
    databases,
    doubts,
    loads,
    names,
    objects,
    partitions,
    statistics,
    tables,
    write_ids,
)
from processors.fold.working_set import WorkingSet
from state import records
from state.records import actions

ACTIONS: Final[dict[type, Callable[[WorkingSet, int, Any], None]]] = {
    actions.CreateTable: tables.create,
    actions.AlterTable: tables.alter,
    actions.RenameTable: tables.rename,
    actions.DropTable: tables.drop,
    actions.PutPartitions: partitions.put_partitions,
    actions.AlterPartition: partitions.alter_partition,
    actions.DropPartitions: partitions.drop_partitions,
    actions.PutTableStatistics: statistics.put_table_statistics,
    actions.PutPartitionStatistics: statistics.put_partition_statistics,
    actions.DropStatistics: statistics.drop_statistics,
    actions.PutConstraints: constraints.put_constraints,
    actions.DropConstraint: constraints.drop_constraint,
    actions.AllocateWriteIds: write_ids.allocate,
    actions.CommitTxn: write_ids.commit,
    actions.AbortTxn: write_ids.abort,
    actions.PutDatabase: databases.put_database,
    actions.DropDatabase: databases.drop_database,
    actions.CreateNames: names.create_names,
    actions.PutName: names.put_name,
    actions.DropName: names.drop_name,
    actions.PutFunction: names.put_function,
    actions.DropFunction: names.drop_function,
    actions.Undecodable: doubts.undecodable,
    actions.Misnamed: doubts.misnamed,
}

ANY_EPOCH: Final[dict[type, Callable[[WorkingSet, Any], None]]] = {
    records.Reset: control.reset,
    records.SetLists: control.set_lists,
    records.Pause: control.pause,
    records.Skip: control.skip,
}

SAME_EPOCH: Final[dict[type, Callable[[WorkingSet, Any], None]]] = {
    records.ResetTable: tables.reset,
    records.LoadBegin: loads.begin,
    records.LoadRows: loads.rows,
    records.LoadEnd: loads.end,
    records.Reread: objects.reread,
    records.OpenTransactions: write_ids.compare_open,
}


OF_NAMES_TOO: Final = frozenset([actions.RenameTable, actions.Undecodable, actions.Misnamed])
"""Actions that name a table and are folded even if it isn't cached: lists of names have all
tables."""


def of_cached(work: WorkingSet, action: actions.AnyAction) -> bool:
    """Whether an action is folded under the present lists."""
    if type(action) in OF_NAMES_TOO:
        return True
    name = actions.subject_of(action)
    return not isinstance(name, TableName) or work.lists.allow(name)
