"""What a transaction reads by: the write-id lists and the ids of its tables, of one moment."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from metatide.client.calls import Object, split
from metatide.client.need import Need

_NONE_OPEN = 9223372036854775807


@dataclass(frozen=True)
class Snapshot:
    """Lists and ids by `catalog.db.table`, and the transactions that they come from."""

    txns: str
    lists: Mapping[str, str]
    ids: Mapping[str, int]

    def need(self, table: str) -> Need:
        """What a read of this table passes on; nothing for one that isn't in the snapshot."""
        name = full_name(table)
        return Need(write_ids=self.lists.get(name), table_id=self.ids.get(name))

    def with_committed(self, table: str, write_id: int) -> "Snapshot":
        """The snapshot of a reader who has committed this write id itself."""
        name = full_name(table)
        return replace(self, lists={**self.lists, name: committed(self.lists[name], write_id)})


def full_name(table: str) -> str:
    """`catalog.db.table` in lower case."""
    catalog, db, name = split(table.lower())
    return f"{catalog or 'hive'}.{db}.{name}"


def snapshot_of(body: Object) -> Snapshot:
    """The snapshot that the server told."""
    tables = body["tables"]
    return Snapshot(
        body["validTxnList"],
        {one["fullTableName"]: one["validWriteIdList"] for one in tables},
        {one["fullTableName"]: one["id"] for one in tables if one["id"] is not None},
    )


def committed(text: str, write_id: int) -> str:
    """A ValidReaderWriteIdList in which one more id is committed.

    Ids between its end and the new one are nobody's that this reader may see: they count as open.
    """
    table, hwm_text, _, open_text, aborted_text = [*text.split(":"), "", ""][:5]
    hwm = int(hwm_text)
    open_ids = {int(one) for one in open_text.split(",") if one}
    open_ids |= set(range(hwm + 1, write_id))
    open_ids.discard(write_id)
    hwm = max(hwm, write_id)
    least = min(open_ids, default=_NONE_OPEN)
    return f"{table}:{hwm}:{least}:{','.join(map(str, sorted(open_ids)))}:{aborted_text}"
