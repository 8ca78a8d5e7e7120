"""Keeps events that change part of an object while a load is open.

The load may still bring the object as it was before the event. So these events wait for the end of
the load and are folded then, in their order; until then the table is cold.
"""

from typing import Final

import msgspec

from hive.names import TableName
from processors.fold.table_change import TableChange
from processors.fold.working_set import WorkingSet
from state import keys, kv
from state.loads import Doubt
from state.records.actions import AnyAction

DEFERRED_MAX: Final = 10_000

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[AnyAction]).decode


def defer(change: TableChange, action: AnyAction) -> bool:
    """Keeps an event for the end of the open load; False when none is open."""
    work, opened = change.work, change.state.loads.open
    if opened is None:
        return False
    if opened.deferred == DEFERRED_MAX:
        change.doubt(Doubt.VOID_LOAD)
    else:
        opened.deferred += 1
        key = keys.deferred(change.name, change.event)
        waiting = work.txn.get(key)
        # An event may change an object in several actions.
        earlier = [] if waiting is None else _decode(waiting)
        work.txn.put(key, _encode([*earlier, action]))
    return True


def take_deferred(work: WorkingSet, name: TableName) -> list[tuple[int, AnyAction]]:
    """Removes and returns the events that waited, in their order."""
    prefix = keys.of_table(keys.DEFERRED, name)
    events = [
        (keys.event_of_deferred(key), action)
        for key, value in kv.scan_prefix(work.txn, prefix)
        for action in _decode(value)
    ]
    if events:
        kv.delete_prefix(work.txn, prefix)
    return events
