"""Writing and deleting entries of a scope, so that loads and events may come in any order.

A row of a load has the load's `lo` as its event, and reflects that event: an event changes only
what is older than itself.
"""

from enum import Enum

from processors.fold.work import Work
from state import entries, kv
from state.entries import Entry
from state.loads import Loads
from state.records.objects import fingerprint


def put(
    work: Work,
    loads: Loads,
    key: bytes,
    event: int,
    data: bytes,
    write_id: int = 0,
    columns_hash: int = 0,
) -> bool:
    """Writes an object as of an event; False when a state is there that reflects the event."""
    if loads.knows(event) or (loads.may_include(event) and _is_from(work, key, event)):
        return False
    work.txn.put(key, entries.encode(event, data, write_id, columns_hash))
    return True


class Replaced(Enum):
    """What became of an object that an event changes, and that its writer had read."""

    WRITTEN = "written"
    INCLUDED = "included"
    """A load read it after the event."""
    ABSENT = "absent"
    CONFLICT = "conflict"
    """We hold another state than its writer had read: the event tells only a part of what is
    stored now. Nothing is kept."""


def replace(
    work: Work, loads: Loads, key: bytes, event: int, entry: Entry, before: int | None
) -> Replaced:
    """Writes what an event made of an object, if that is sure to be what is stored."""
    if loads.knows(event):
        return Replaced.INCLUDED
    value = work.txn.get(key)
    if value is None or not entries.is_live(value):
        return Replaced.ABSENT
    if entries.event_of(value) >= event:
        return Replaced.INCLUDED
    if before != fingerprint(entries.data_of(value)):
        delete(work, loads, key, event)
        return Replaced.CONFLICT
    work.txn.put(key, entries.encode(event, entry.data, entry.write_id, entry.hash))
    build_on(work, loads, entries.event_of(value), event)
    return Replaced.WRITTEN


def build_on(work: Work, loads: Loads, old: int, event: int) -> None:
    """An event changed an entry in part: it isn't better known than it was before."""
    head = work.head
    if loads.cold(head.applied, head.floor) and not loads.tells_alone(old, head.floor):
        loads.newest_row = max(loads.newest_row, event)


def delete(work: Work, loads: Loads, key: bytes, event: int) -> None:
    """An event deleted an object; what reflects the event stays."""
    if loads.knows(event) or (loads.may_include(event) and _is_from(work, key, event)):
        return
    if loads.open is None:
        work.txn.delete(key)
    else:
        work.txn.put(key, entries.tombstone(event))


def delete_below(work: Work, loads: Loads, prefix: bytes, event: int) -> bool:
    """An event deleted all objects below a prefix; True when there were some.

    While a load is open the prefix itself becomes a tombstone for rows that it may still bring.
    """
    if loads.knows(event):
        return False
    found = False
    for key, value in kv.scan_prefix(work.txn, prefix):
        if entries.event_of(value) < event:
            found = found or entries.is_live(value)
            work.txn.delete(key)
    if loads.open is not None:
        work.txn.put(prefix, entries.tombstone(event))
    return found


def clear(work: Work, loads: Loads, prefix: bytes, event: int) -> None:
    """Deletes everything below a prefix that is older than an event which raises the floor.

    The floor keeps older rows out, so no tombstones are needed; and where no load reads beyond
    the event, one range deletion does it.
    """
    if loads.knows(event):
        return
    if loads.open is None and not loads.may_include(event):
        work.txn.delete_range(prefix, kv.after(prefix))
        return
    for key, value in kv.scan_prefix(work.txn, prefix):
        if entries.event_of(value) < event:
            work.txn.delete(key)


def put_row(
    work: Work,
    key: bytes,
    lo: int,
    data: bytes,
    write_id: int = 0,
    columns_hash: int = 0,
    guard: bytes | None = None,
) -> bool:
    """Writes a row of a load as of `lo`; False when an event has made it old."""
    for one in (key,) if guard is None else (key, guard):
        if _is_from(work, one, lo + 1):
            return False
    work.txn.put(key, entries.encode(lo, data, write_id, columns_hash))
    return True


def sweep(work: Work, prefix: bytes, lo: int) -> None:
    """The end of a load: deletes what it would have brought and didn't, and tombstones."""
    for key, value in kv.scan_prefix(work.txn, prefix):
        if entries.event_of(value) < lo or not entries.is_live(value):
            work.txn.delete(key)


def _is_from(work: Work, key: bytes, event: int) -> bool:
    """Whether an entry is of this event or of a later one."""
    value = work.txn.get(key)
    return value is not None and entries.event_of(value) >= event
