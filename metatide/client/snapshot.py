"""The snapshot of a transaction: the write-id lists and ids of its tables, as of one moment."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from metatide.client.calls import split
from metatide.client.need import Need
from metatide.client.objects import WriteIds

_NONE_OPEN = 9223372036854775807


@dataclass(frozen=True)
class Snapshot:
    """Write-id lists and table ids by `catalog.db.table`, and the ValidTxnList behind them."""

    txns: str
    lists: Mapping[str, str]
    ids: Mapping[str, int]

    def need(self, table: str) -> Need:
        """The need of a read of this table; it demands nothing if the snapshot lacks the table."""
        name = full_name(table)
        return Need(write_ids=self.lists.get(name), table_id=self.ids.get(name))

    def with_committed(self, table: str, write_id: int) -> "Snapshot":
        """The snapshot of a reader who has itself committed this write id."""
        name = full_name(table)
        return replace(self, lists={**self.lists, name: committed(self.lists[name], write_id)})


def full_name(table: str) -> str:
    """`catalog.db.table` in lower case."""
    catalog, db, name = split(table.lower())
    return f"{catalog or 'hive'}.{db}.{name}"


def snapshot_of(write_ids: WriteIds) -> Snapshot:
    """The snapshot in the server's response."""
    tables = write_ids.tables
    return Snapshot(
        write_ids.validTxnList,
        {table.fullTableName: table.validWriteIdList for table in tables},
        {table.fullTableName: table.id for table in tables if table.id is not None},
    )


def committed(text: str, write_id: int) -> str:
    """A ValidReaderWriteIdList with one more committed id.

    Ids between the end of the list and the new id count as open, because this reader may not see
    them.
    """
    table, hwm_text, _, open_text, aborted_text = [*text.split(":"), "", ""][:5]
    hwm = int(hwm_text)
    open_ids = {int(open_id) for open_id in open_text.split(",") if open_id}
    open_ids |= set(range(hwm + 1, write_id))
    open_ids.discard(write_id)
    hwm = max(hwm, write_id)
    least = min(open_ids, default=_NONE_OPEN)
    return f"{table}:{hwm}:{least}:{','.join(map(str, sorted(open_ids)))}:{aborted_text}"
