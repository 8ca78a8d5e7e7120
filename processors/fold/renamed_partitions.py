"""Partitions that were renamed lately, for events that still name them by their old values.

A writer may look a partition up before its rename and change it afterwards. Its write changes the
renamed partition, because the metastore knows partitions by their ids, but its event has the old
values.
"""

from typing import Final

import msgspec

from hive.names import TableName
from processors.fold.entries import reflects
from processors.fold.table_change import TableChange
from processors.fold.working_set import WorkingSet
from state import entries, keys, kv
from state.loads import Doubt
from state.records.actions import MISNAMED_EVENTS_MAX


class _Rename(msgspec.Struct, frozen=True, array_like=True):
    event: int
    new: tuple[str, ...]


_encode: Final = msgspec.msgpack.Encoder().encode
_decode: Final = msgspec.msgpack.Decoder(list[_Rename]).decode


def note(change: TableChange, old: tuple[str, ...], new: tuple[str, ...]) -> None:
    """Notes a rename, also for the values that the partition had got by others before."""
    txn, state, event = change.work.txn, change.state, change.event
    if not _may_be_misnamed(change):
        forget(change.work, change.name)
    for values in (old, *current_values(change, old)):
        key = keys.renamed_partition(change.name, values)
        txn.put(key, _encode([*_renames(change, values), _Rename(event, keys.named_values(new))]))
    state.partitions_renamed = max(event, state.partitions_renamed)


def current_values(change: TableChange, values: tuple[str, ...]) -> list[tuple[str, ...]]:
    """The values that a partition may have got by renames whose events a writer hadn't seen."""
    if not _may_be_misnamed(change):
        return []
    values = keys.named_values(values)
    followed = [values]
    for former in followed:
        renamed = (rename.new for rename in _renames(change, former))
        followed += [new for new in dict.fromkeys(renamed) if new not in followed]
    return followed[1:]


def doubt(change: TableChange, values: tuple[str, ...]) -> bool:
    """Puts all partitions in doubt that an event may mean by these values; False if they certainly
    belong to one alone."""
    if _may_be_any(change, values):
        change.doubt(Doubt.CONFLICT)
        return True
    renamed = current_values(change, values)
    for possible in (values, *renamed) if renamed else ():
        key = keys.partition(change.name, possible)
        if change.state.loads.knows(change.event) or reflects(change.work, key, change.event):
            continue
        statistics = keys.statistics_of_partition(change.name, possible)
        if change.delete_below(statistics) or change.is_watched:
            change.doubt_statistics(Doubt.CONFLICT)
        change.delete(key)
        change.doubt_object(possible)
    return bool(renamed)


def forget(work: WorkingSet, table: TableName) -> None:
    """Forgets the renames of a table's partitions."""
    kv.delete_prefix(work.txn, keys.of_table(keys.RENAMED_PARTITION, table))


def _may_be_misnamed(change: TableChange) -> bool:
    return _is_late(change, change.state.partitions_renamed)


def may_be_unknown(change: TableChange) -> bool:
    """Whether an event may use values of before a rename that isn't known."""
    return _is_late(change, change.work.head.renames_floor)


def _is_late(change: TableChange, renamed_at: int) -> bool:
    """Whether the writer of an event may have begun before a rename; -1 if there was none."""
    return renamed_at >= 0 and change.event - renamed_at <= MISNAMED_EVENTS_MAX


def _may_be_any(change: TableChange, values: tuple[str, ...]) -> bool:
    """Whether no partition has these values, and one may have had them before a rename that isn't
    known."""
    head, loads = change.work.head, change.state.loads
    if not may_be_unknown(change) or loads.knows(change.event) or not loads.complete(head.floor):
        return False
    if keys.named_values(values) in change.state.doubtful:
        return False
    value = entries.live(change.work.txn.get(keys.partition(change.name, values)))
    return value is None or entries.event_of(value) < max(loads.floor, head.floor)


def _renames(change: TableChange, values: tuple[str, ...]) -> list[_Rename]:
    """The renames before the event that took these values from a partition."""
    value = change.work.txn.get(keys.renamed_partition(change.name, values))
    renames = [] if value is None else _decode(value)
    first = change.event - MISNAMED_EVENTS_MAX
    return [rename for rename in renames if first <= rename.event < change.event]
