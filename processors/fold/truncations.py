"""Truncations of tables without partitions, which Hive 4.1 and later tell before they store them.

The event is committed first. The table's figures follow in a transaction of their own, of which
nothing tells. Whoever reads the table in between reads the old ones.
"""

from typing import Final

import msgspec

from hive.errors import ThriftError
from hive.names import TableName
from hive.thrift.view import TableView
from processors.fold.table_change import TableChange
from processors.fold.working_set import WorkingSet
from state import entries, keys
from state.records.actions import AlterTable
from state.records.objects import fingerprint
from state.tables import TABLE_ROW, TableState, Truncation

READS_MAX: Final = 4
"""After so many reads a table that still has other figures has been given them since, or its
metastore has failed. Workers ask for it again 10 s after the first, then 20 and 40 s later, or
sooner for readers."""
_FIGURES: Final = ("numFiles", "numRows", "rawDataSize", "totalSize")


def note(state: TableState, event: int, action: AlterTable) -> None:
    """Notes the figures that a truncation will store; another alter has stored its own."""
    will_store = action.truncates and not action.table.partitioned
    state.truncation = Truncation(event, _figures(action.table.data)) if will_store else None


def look(work: WorkingSet, name: TableName, state: TableState) -> None:
    """Puts a table in doubt that was read before its truncation was stored."""
    truncation, key = state.truncation, keys.of_table(keys.TABLE, name)
    if truncation is None:
        return
    value = entries.live(work.txn.get(key))
    if value is None:
        return
    if truncation.reads == READS_MAX or _figures(entries.data_of(value)) == truncation.figures:
        state.truncation = None
        return
    state.truncation = msgspec.structs.replace(truncation, reads=truncation.reads + 1)
    work.txn.delete(key)
    # A reread that came late, from before what is known, mustn't settle it.
    event = max(truncation.event, work.head.applied)
    TableChange(work, name, state, event).doubt_object(TABLE_ROW)


def _figures(data: bytes) -> int:
    try:
        view = TableView(data)
        texts = [view.parameter(name) or "" for name in _FIGURES]
    except (ThriftError, UnicodeDecodeError):
        return fingerprint(data)
    return fingerprint("\0".join(texts).encode())
