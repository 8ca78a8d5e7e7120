"""Folds write ids: which transactions hold them, how these end, and which writes await the end."""

import msgspec

from hive.names import TableName
from hive.write_ids.pages import Ended, Loaded, WriteIdsCold
from hive.write_ids.tracker import WriteIdTracker
from processors.fold.table_change import TableChange, change_of
from processors.fold.working_set import WorkingSet
from state import entries, keys, kv
from state.records import OpenTransactions, Scope, ScopeKind
from state.records.actions import AbortTxn, AllocateWriteIds, CommitTxn
from state.records.objects import WriteIdsImage
from state.tables import TABLE_ROW, UNKNOWN_IDS, TableState

ENDED_MAX = 100_000
"""How many ends of transactions are kept for open loads. If a load needs more, some ids stay open
though their transactions have ended, which costs hits until open transactions are compared."""
PENDING_MAX = 10_000
"""The most pending writes of a table; with more, it waits for all of its open ids."""
PENDING_CHECKED = 64
"""After so many further ids of writes it is seen which of them are still open."""


Pairs = tuple[tuple[str, int], ...]
"""The (database, write id) pairs of COMMIT_TXN."""


class EndedTxn(msgspec.Struct, frozen=True, array_like=True):
    """The outcome of a transaction, for loads that read it as open."""

    event: int
    committed: bool
    pairs: Pairs | None


_encode = msgspec.msgpack.Encoder().encode
_decode_tables = msgspec.msgpack.Decoder(list[TableName]).decode
_decode_ended = msgspec.msgpack.Decoder(EndedTxn).decode


def allocate(work: WorkingSet, event: int, action: AllocateWriteIds) -> None:
    state = work.touch_table(action.table)
    ids = work.write_ids(action.table)
    was_cold = ids.cold
    ids.alloc(event, zip(action.txns, action.write_ids, strict=True))
    if was_cold and not ids.cold:
        state.pending = []
        state.pending_upto = 0
    for txn in action.txns:
        _hold(work, txn, action.table)
    _signal_if_cold(work, action.table, event)


def commit(work: WorkingSet, event: int, action: CommitTxn) -> None:
    _end(work, event, action.txn, committed=True, pairs=action.pairs)


def abort(work: WorkingSet, event: int, action: AbortTxn) -> None:
    _end(work, event, action.txn, committed=False, pairs=None)


def note_write(change: TableChange, write_id: int = 0) -> None:
    """Notes a write to a table: readers by write ids must know how it ends.

    A writer that sends no id leaves the stored one, which the event then tells: an id that isn't
    open says nothing of the writer.
    """
    state, event = change.state, change.event
    ids = change.work.write_ids(change.name)
    if write_id > 0:
        was_cold = ids.cold
        ids.see(event, write_id)
        if ids.cold and not was_cold:
            _signal_if_cold(change.work, change.name, event)
    is_known, is_open = not (ids.cold or ids.loading), ids.is_open(write_id)
    if write_id > 0 and (is_open or not is_known):
        is_first = state.await_id(write_id)
        if is_first and is_known and len(state.pending) % PENDING_CHECKED == 0:
            state.drop_ended(ids)
        if len(state.pending) > PENDING_MAX:
            state.pending_upto = max(state.pending_upto, state.pending[-1])
            state.pending = []
    if is_open:
        return
    if not is_known:
        state.pending_upto = UNKNOWN_IDS
    elif ids.open_count:
        state.pending_upto = max(state.pending_upto, ids.hwm)


def signal_ids(work: WorkingSet, table: TableName, event: int) -> None:
    """Asks for a load of write ids, unless no event would go on with what it brings: allocations
    name no catalog."""
    if table.in_default_catalog:
        work.signal(Scope(ScopeKind.WRITE_IDS, table), event)


def forget(work: WorkingSet, table: TableName, event: int, reason: WriteIdsCold) -> None:
    """Makes a table's write ids unknown from this event on."""
    work.write_ids(table).forget(event, reason)


def compare_open(work: WorkingSet, record: OpenTransactions) -> None:
    """Finds transactions that are open here but not in the metastore: they ended without an
    event."""
    if record.at > work.head.applied:
        return
    open_txns = frozenset(record.txns)
    hidden = {
        txn: _decode_tables(value)
        for key, value in kv.scan_prefix(work.txn, keys.TXN)
        if (txn := keys.txn_of(key)) not in open_txns
    }
    for table in sorted({table for tables in hidden.values() for table in tables}):
        state = work.table(table)
        if state is None:
            continue
        ids = work.write_ids(table)
        ids.expect_open(record.at, open_txns)
        if _may_have_written(state, ids, None):
            doubt_overtaken(work, table, work.head.applied, None)
        _signal_if_cold(work, table, record.at)
    for txn, tables in hidden.items():
        if not any(_may_hold(work, txn, table) for table in tables):
            work.txn.delete(keys.txn(txn))


def merge(work: WorkingSet, table: TableName, image: WriteIdsImage, lo: int, hi: int) -> None:
    """Takes write ids from a load and applies what happened since it began."""
    ids = work.write_ids(table)

    def ended(txn: int) -> Ended | None:
        value = work.txn.get(keys.ended_txn(txn))
        if value is None:
            return None
        end = _decode_ended(value)
        return Ended(end.event, end.committed, _ids_in(end.pairs, table))

    if ids.merge(Loaded(lo, hi, image.high, image.open, image.aborted), ended):
        # Also those whose end wasn't kept: `compare_open` must find them.
        for txn in ids.open_txns():
            _hold(work, txn, table)
    _signal_if_cold(work, table, lo)


def _end(
    work: WorkingSet,
    event: int,
    txn: int,
    *,
    committed: bool,
    pairs: Pairs | None,
) -> None:
    if work.head.loads_open:
        _keep_end(work, event, txn, committed, pairs)
    key = keys.txn(txn)
    encoded = work.txn.get(key)
    if encoded is None:
        return
    work.txn.delete(key)
    for table in _decode_tables(encoded):
        state = work.table(table)
        if state is None:
            continue
        ids = work.write_ids(table)
        write_id = ids.id_of(txn)
        if _may_have_written(state, ids, write_id):
            doubt_overtaken(work, table, event, write_id)
        if committed:
            ids.commit(event, txn, _ids_in(pairs, table))
        else:
            ids.abort(event, txn)
        _signal_if_cold(work, table, event)


def ended_ids(work: WorkingSet, image: WriteIdsImage) -> list[int]:
    """The open ids of an image whose transactions have ended since its load began."""
    return [id_ for txn, id_ in image.open if work.txn.get(keys.ended_txn(txn)) is not None]


def doubt_overtaken(work: WorkingSet, name: TableName, event: int, write_id: int | None) -> None:
    """Puts a table in doubt to which an ending transaction may have written before another did.
    Where the first merges its statistics after the second's write, a metastore may store the first
    one's write id again without an event. The id is None if it isn't known.
    """
    state = work.table(name)
    assert state is not None
    # The end of a load looks at the transactions that have ended since it was read.
    if state.partitioned or state.loads.open is not None:
        return
    value = entries.live(work.txn.get(keys.of_table(keys.TABLE, name)))
    if value is not None and entries.decode(value).write_id != write_id:
        change_of(work, name, event).doubt_object(TABLE_ROW)


def _may_have_written(state: TableState, ids: WriteIdTracker, write_id: int | None) -> bool:
    """Whether an ending transaction may have written to the table, by its id there."""
    if write_id is None:
        return ids.cold is not None and bool(state.pending or state.pending_upto)
    return state.has_written(write_id)


def _keep_end(
    work: WorkingSet,
    event: int,
    txn: int,
    committed: bool,
    pairs: Pairs | None,
) -> None:
    work.head.ended_count += 1
    work.txn.put(keys.ended_txn(txn), _encode(EndedTxn(event, committed, pairs)))
    if work.head.ended_count > ENDED_MAX:
        _drop_older_ends(work)


def _drop_older_ends(work: WorkingSet) -> None:
    """Drops the older half: what a load that never ends leaves mustn't keep out newer ends."""
    ends = sorted(
        (_decode_ended(value).event, key) for key, value in kv.scan_prefix(work.txn, keys.ENDED_TXN)
    )
    dropped_count = (len(ends) + 1) // 2
    for _, key in ends[:dropped_count]:
        work.txn.delete(key)
    work.head.ended_count = len(ends) - dropped_count


def _may_hold(work: WorkingSet, txn: int, table: TableName) -> bool:
    """Whether a transaction has an open id in a table, or the end of a load may show one."""
    if work.table(table) is None:
        return False
    ids = work.write_ids(table)
    return ids.loading or ids.id_of(txn) is not None


def _hold(work: WorkingSet, txn: int, table: TableName) -> None:
    key = keys.txn(txn)
    encoded = work.txn.get(key)
    tables = [] if encoded is None else _decode_tables(encoded)
    if table not in tables:
        work.txn.put(key, _encode(sorted([*tables, table])))


def _ids_in(pairs: Pairs | None, table: TableName) -> frozenset[int] | None:
    if pairs is None:
        return None
    return frozenset(write_id for db, write_id in pairs if db == table.db)


def _signal_if_cold(work: WorkingSet, table: TableName, event: int) -> None:
    if work.write_ids(table).cold:
        signal_ids(work, table, event)
