"""Writing and deleting entries of a scope, so that loads and events may come in any order."""

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
    """Writes an object as of an event; False when a newer state of it is there."""
    if loads.may_hold_newer(event) and _newer(work, key, event):
        return False
    work.txn.put(key, entries.encode(event, data, write_id, columns_hash))
    return True


def replace(
    work: Work, loads: Loads, key: bytes, event: int, entry: Entry, before: int | None
) -> bool:
    """Writes what an event made of an object that its writer had read; False on a conflict.

    When that isn't what we hold, the event tells only a part of what is stored now: nothing is
    kept then. Nor is it where we hold nothing to compare with, which is cold anyway.
    """
    value = work.txn.get(key)
    if value is None or not entries.is_live(value):
        return True
    if entries.event_of(value) > event:
        return True
    if before != fingerprint(entries.data_of(value)):
        delete(work, loads, key, event)
        return False
    work.txn.put(key, entries.encode(event, entry.data, entry.write_id, entry.hash))
    return True


def delete(work: Work, loads: Loads, key: bytes, event: int) -> None:
    """An event deleted an object; what is newer than the event stays."""
    if loads.may_hold_newer(event) and _newer(work, key, event):
        return
    if loads.open is None:
        work.txn.delete(key)
    else:
        work.txn.put(key, entries.tombstone(event))


def delete_below(work: Work, loads: Loads, prefix: bytes, event: int) -> bool:
    """An event deleted all objects below a prefix; True when there were some.

    While a load is open the prefix itself becomes a tombstone for rows that it may still bring.
    """
    found = False
    for key, value in kv.scan_prefix(work.txn, prefix):
        if entries.event_of(value) <= event:
            found = found or entries.is_live(value)
            work.txn.delete(key)
    if loads.open is not None:
        work.txn.put(prefix, entries.tombstone(event))
    return found


def clear(work: Work, loads: Loads, prefix: bytes, event: int) -> None:
    """Deletes everything below a prefix up to an event at which the scope's floor is raised.

    The floor keeps older rows out, so no tombstones are needed; and where no load reads beyond
    the event, one range deletion does it.
    """
    if loads.open is None and not loads.may_hold_newer(event):
        work.txn.delete_range(prefix, kv.after(prefix))
        return
    for key, value in kv.scan_prefix(work.txn, prefix):
        if entries.event_of(value) <= event:
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
        if _newer(work, one, lo):
            return False
    work.txn.put(key, entries.encode(lo, data, write_id, columns_hash))
    return True


def sweep(work: Work, prefix: bytes, lo: int) -> None:
    """The end of a load: deletes what it would have brought and didn't, and tombstones."""
    for key, value in kv.scan_prefix(work.txn, prefix):
        if entries.event_of(value) < lo or not entries.is_live(value):
            work.txn.delete(key)


def _newer(work: Work, key: bytes, event: int) -> bool:
    value = work.txn.get(key)
    return value is not None and entries.event_of(value) > event
