"""The snapshot of a transaction: the write-id lists and ids of its tables, as of one moment."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from metatide.client.need import Need
from metatide.client.objects import WriteIds

_NONE_OPEN = 9223372036854775807


@dataclass(frozen=True)
class Snapshot:
    """Write-id lists and table ids by `catalog.db.table`, and the ValidTxnList behind them."""

    txns: str
    lists: Mapping[str, str]
    ids: Mapping[str, int]
    names: Mapping[str, str]
    """The full name of each table by those that its reader may use, in lower case: the one that it
    was asked for by, and the full one. Only the server knows which catalog a name without one
    means.
    """

    def need(self, table: str) -> Need:
        """The need of a read of this table."""
        name = self._full_name(table)
        return Need(write_ids=self.lists[name], table_id=self.ids.get(name))

    def with_committed(self, table: str, write_id: int) -> "Snapshot":
        """The snapshot of a reader who has itself committed this write id."""
        name = self._full_name(table)
        return replace(self, lists={**self.lists, name: committed(self.lists[name], write_id)})

    def _full_name(self, table: str) -> str:
        name = self.names.get(table.lower())
        if name is None:
            raise ValueError(
                f"the snapshot has no {table}: name it as snapshot() did, or give the read a need"
            )
        return name


def snapshot_of(tables: Sequence[str], write_ids: WriteIds) -> Snapshot:
    """The snapshot of these tables in the server's response, which is in their order."""
    of_tables = write_ids.tables
    full_names = [table.fullTableName for table in of_tables]
    lower_names = list(dict.fromkeys(table.lower() for table in tables))
    if len(lower_names) != len(full_names):
        raise ValueError("a snapshot of a table by two names: give it one, with or without catalog")
    return Snapshot(
        write_ids.validTxnList,
        {table.fullTableName: table.validWriteIdList for table in of_tables},
        {table.fullTableName: table.id for table in of_tables if table.id is not None},
        {**{name: name for name in full_names}, **dict(zip(lower_names, full_names, strict=True))},
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
