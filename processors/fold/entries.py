"""Writing and deleting entries of a scope, so that loads and events may come in any order.

A row of a load has the load's `lo` as its event, and reflects that event: an event changes only
what is older than itself.

Events come in the order of commits. But a writer may have read an object before the last commit,
and the metastore stores only what the writer changed. So an event's image is certainly what is
stored now only if its writer had read the very state that we hold. `replace` asks for proof of
that, for every kind of event that carries an image. There are three kinds of proof: the event shows
what its writer had read; this writer and the one before it both locked the object's row before they
read it; or the image is what we hold already.
"""

from enum import Enum

from processors.fold.working_set import WorkingSet
from state import entries, kv
from state.entries import Entry, Mark
from state.loads import Loads
from state.records.objects import fingerprint


def put(
    work: WorkingSet,
    loads: Loads,
    key: bytes,
    event: int,
    data: bytes,
    write_id: int = 0,
    columns_hash: int = 0,
    mark: Mark = Mark.LIVE,
) -> bool:
    """Writes an object as of an event; False when the present entry reflects the event already."""
    if loads.knows(event) or (loads.may_include(event) and reflects(work, key, event)):
        note_order(work, key, mark)
        return False
    work.txn.put(key, entries.encode(event, data, write_id, columns_hash, mark))
    return True


def note_order(work: WorkingSet, key: bytes, mark: Mark) -> None:
    """Marks an entry that already reflects an event with whether its writer had locked the row."""
    value = entries.live(work.txn.get(key))
    if value is not None and value[0] != mark:
        work.txn.put(key, entries.marked(value, mark))


class Replaced(Enum):
    """The outcome for an object that an event changes after its writer had read it."""

    WRITTEN = "written"
    INCLUDED = "included"
    """A load has read the object after the event."""
    ABSENT = "absent"
    CONFLICT = "conflict"
    """Nothing proves that the writer had read the state held here, so its event may lack a part of
    what the database holds now. No entry is kept."""


def replace(
    work: WorkingSet, loads: Loads, key: bytes, entry: Entry, before: int | None
) -> Replaced:
    """Writes an object as an event left it, if that is certainly what the database holds.

    `before` is the fingerprint of what the writer had read. It is None when the event lacks it or
    when its image may lack something that was stored; then the new entry is certain only if it
    follows an entry that is marked as ordered and is ordered itself.
    """
    event, value = entry.event, work.txn.get(key)
    reflected = -1 if value is None else entries.event_of(value)
    if reflected >= event or loads.knows(event):
        note_order(work, key, entry.mark)
        return Replaced.INCLUDED
    value = entries.live(value)
    if value is None:
        return Replaced.ABSENT
    if not _follows(entry, value, before):
        delete(work, loads, key, event)
        return Replaced.CONFLICT
    work.txn.put(key, entries.encode(event, entry.data, entry.write_id, entry.hash, entry.mark))
    build_on(work, loads, reflected, event)
    return Replaced.WRITTEN


def _follows(entry: Entry, value: bytes, before: int | None) -> bool:
    """Whether the writer of an entry has certainly read the state in `value`."""
    data = entries.data_of(value)
    if before is None:
        return entry.mark is Mark.ORDERED and (entries.is_ordered(value) or entry.data == data)
    return entry.data == data or before == fingerprint(data)


def build_on(work: WorkingSet, loads: Loads, old: int, event: int) -> None:
    """Notes that an event changed part of an entry, which becomes no more certain than it was."""
    head = work.head
    if loads.cold(head.applied, head.floor) and not loads.tells_alone(old, head.floor):
        loads.newest_row = max(loads.newest_row, event)


def delete(work: WorkingSet, loads: Loads, key: bytes, event: int) -> None:
    """Deletes an object as of an event, unless the present entry reflects the event already."""
    if loads.knows(event) or (loads.may_include(event) and reflects(work, key, event)):
        return
    if loads.open is None:
        work.txn.delete(key)
    else:
        work.txn.put(key, entries.tombstone(event))


def delete_below(work: WorkingSet, loads: Loads, prefix: bytes, event: int) -> bool:
    """Deletes all objects below a prefix as of an event; True when there were any.

    While a load is open the prefix itself becomes a tombstone for rows that the load may still
    bring.
    """
    if loads.knows(event):
        return False
    deleted_any = False
    for key, value in kv.scan_prefix(work.txn, prefix):
        if entries.event_of(value) < event:
            deleted_any = deleted_any or entries.is_live(value)
            work.txn.delete(key)
    if loads.open is not None:
        work.txn.put(prefix, entries.tombstone(event))
    return deleted_any


def clear(work: WorkingSet, loads: Loads, prefix: bytes, event: int) -> None:
    """Deletes everything below a prefix that is older than an event which raises the floor.

    The floor keeps older rows out, so no tombstones are needed. If no load reads beyond the event,
    one range deletion is enough. What a load has read later stays, but not as ordered: before the
    event its last writer may have been another one.
    """
    if loads.open is None and not loads.may_include(event):
        kv.delete_prefix(work.txn, prefix)
        return
    all_read_later = loads.knows(event)
    for key, value in kv.scan_prefix(work.txn, prefix):
        if not all_read_later and entries.event_of(value) < event:
            work.txn.delete(key)
        elif entries.is_ordered(value):
            work.txn.put(key, entries.marked(value, Mark.LIVE))


def put_row(
    work: WorkingSet,
    key: bytes,
    lo: int,
    data: bytes,
    write_id: int = 0,
    columns_hash: int = 0,
    guard: bytes | None = None,
    floor: int = 0,
    compare: bool = True,
) -> bool:
    """Writes a row of a load as of `lo`; False when an event has made it obsolete.

    From the event `floor` on, every effect on the row's object is known or yet to be folded.
    Without `compare`, nothing is stored that may be newer.
    """
    if compare and guard is not None and reflects(work, guard, lo + 1):
        return False
    old = work.txn.get(key) if compare else None
    mark = Mark.LIVE
    if old is not None:
        if entries.event_of(old) > lo:
            return False
        if entries.is_ordered(old) and entries.event_of(old) >= floor:
            mark = Mark.ORDERED
    work.txn.put(key, entries.encode(lo, data, write_id, columns_hash, mark))
    return True


def sweep(work: WorkingSet, prefix: bytes, lo: int) -> None:
    """Ends a load: deletes tombstones, and the objects that the load should have brought but
    didn't."""
    for key, value in kv.scan_prefix(work.txn, prefix):
        if entries.event_of(value) < lo or not entries.is_live(value):
            work.txn.delete(key)


def delete_upto(work: WorkingSet, prefix: bytes, event: int) -> None:
    """Deletes what is as of this event or an earlier one."""
    for key, value in kv.scan_prefix(work.txn, prefix):
        if entries.event_of(value) <= event:
            work.txn.delete(key)


def reflects(work: WorkingSet, key: bytes, event: int) -> bool:
    """Whether an entry is of this event or of a later one."""
    value = work.txn.get(key)
    return value is not None and entries.event_of(value) >= event
