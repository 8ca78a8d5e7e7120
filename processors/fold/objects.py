"""Single objects of a table that events left in doubt, and the rereads that settle them."""

from processors.fold import truncations
from processors.fold.entries import delete_below
from processors.fold.working_set import WorkingSet
from state import entries, keys
from state.entries import Mark
from state.records import Reread
from state.tables import TABLE_ROW


def reread(work: WorkingSet, record: Reread) -> None:
    """Stores reread rows for objects whose doubt is not newer than the reread."""
    name = record.table
    current = work.table(name)
    if current is None or not current.loads.complete(work.head.floor):
        return
    ended = current.loads.ended
    assert ended is not None
    # Events up to the last load's `lo` bring no news any more, even of what is reread.
    if record.table_id != current.id or record.at < max(current.loads.floor, ended.lo):
        return
    state = work.touch_table(name)
    rows = {keys.named_values(image.values): image for image in record.rows.partitions}
    for values in map(keys.named_values, record.objects):
        doubt = state.doubtful.get(values)
        if doubt is None or doubt.event > record.at:
            continue
        del state.doubtful[values]
        state.loads.include(record.at)
        mark = Mark.ORDERED if doubt.ordered else Mark.LIVE
        if values == TABLE_ROW:
            for table in record.rows.tables:
                key = keys.of_table(keys.TABLE, name)
                work.txn.put(key, entries.encode(record.at, table.data, table.write_id))
                state.describe(table)
                truncations.look(work, name, state)
        elif (row := rows.get(values)) is not None:
            data = entries.encode(record.at, row.data, row.write_id, row.columns_hash, mark)
            work.txn.put(keys.partition(name, values), data)
        else:
            # The partition wasn't there, so its statistics in events were never stored.
            statistics = keys.statistics_of_partition(name, values)
            delete_below(work, state.loads, statistics, record.at + 1)
