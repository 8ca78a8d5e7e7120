"""Events that change an object in part, while a load is open.

What they change may still come as a row of that load, as it was before the event; so they wait for
the load's end and are folded then, in their order. Until then the table is cold.
"""

from typing import Final

import msgspec

from hive.names import TableName
from processors.fold.working_set import WorkingSet
from state import keys, kv
from state.loads import Doubt
from state.records.actions import AnyAction
from state.tables import TableState

DEFERRED_MAX: Final = 10_000

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[AnyAction]).decode


def defer(
    work: WorkingSet, name: TableName, state: TableState, event: int, action: AnyAction
) -> bool:
    """Keeps an event for the end of the open load; False where none is open."""
    opened = state.loads.open
    if opened is None:
        return False
    if opened.deferred == DEFERRED_MAX:
        work.doubt_table(name, state, event, Doubt.VOID_LOAD)
    else:
        opened.deferred += 1
        key = keys.deferred(name, event)
        waiting = work.txn.get(key)
        # An event may change an object in several actions.
        earlier = [] if waiting is None else _decode(waiting)
        work.txn.put(key, _encode([*earlier, action]))
    return True


def take_deferred(work: WorkingSet, name: TableName) -> list[tuple[int, AnyAction]]:
    """The events that waited, in their order; they are kept no longer."""
    prefix = keys.of_table(keys.DEFERRED, name)
    found = [
        (keys.event_of_deferred(key), action)
        for key, value in kv.scan_prefix(work.txn, prefix)
        for action in _decode(value)
    ]
    if found:
        work.txn.delete_range(prefix, kv.after(prefix))
    return found
