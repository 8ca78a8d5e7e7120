"""Folds Control records: operators' decisions, in the order of the topic."""

from processors.fold import doubts, renamed_partitions, tables
from processors.fold.working_set import WorkingSet
from state.records import Pause, Reset, SetLists, Skip
from state.records.epochs import follows
from state.records.numbers import supersedes
from state.records.table_lists import TableLists


def reset(work: WorkingSet, record: Reset) -> None:
    if follows(record.epoch, work.head.epoch):
        doubts.reset(work, record.epoch, record.at, record.mark)


def pause(work: WorkingSet, record: Pause) -> None:
    if supersedes(record.version, work.head.pause_version):
        work.head.pause_version = record.version
        work.head.paused = record.paused


def set_lists(work: WorkingSet, record: SetLists) -> None:
    """Deletes the tables that the lists leave out; those that they let in become unknown, as do
    the names that they had before."""
    head = work.head
    if not supersedes(record.version, head.lists_version):
        return
    head.lists_version = record.version
    head.whitelist, head.blacklist = record.whitelist, record.blacklist
    head.lists_floor = head.applied
    if head.applied:
        head.renames_floor = head.applied
    work.lists = TableLists(head.whitelist, head.blacklist)
    for table in list(work.table_names()):
        if not work.lists.allow(table):
            tables.forget_table(work, table)
            renamed_partitions.forget(work, table)


def skip(_work: WorkingSet, _record: Skip) -> None:
    """Changes nothing: the records that it is about came before it."""
