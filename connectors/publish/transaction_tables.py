"""The tables in which open transactions have write ids, for the ends of these transactions."""

from typing import Final

from connectors.publish.translate import Addressed
from hive.events import event_types
from hive.names import TableName

TRACKED_MAX: Final = 100_000
RANGE_MAX: Final = 10_000
"""The most transactions of one OPEN_TXN that are tracked."""


class TransactionTables:
    """Addresses the end of a transaction to its tables. To send it to all shards would cost a
    record for each of them, and most transactions write to one table or to none.

    1. Only transactions whose beginning was seen are known: all that they allocate follows it in
       the log. The ends of others go to all shards, which ignore those that don't concern them.
    2. Whatever may hide an allocation, or give a table's write ids another name, makes all of them
       unknown.
    3. Were an end lost, the shard would hold the transaction open, and answer readers by write ids
       less often, until open transactions are compared: it would never be wrong.
    """

    def __init__(self) -> None:
        self._tables: dict[int, tuple[TableName, ...]] = {}
        """Those of each transaction. The oldest comes first."""

    def address(self, event: event_types.Event, addressed: list[Addressed]) -> list[Addressed]:
        """The effects of the next event of the log, addressed to those whom they concern."""
        match event:
            case event_types.OpenTransactions(ranges=ranges):
                for first, last in ranges:
                    self._begin(first, last)
            case event_types.AllocateWriteIds(table=table, pairs=pairs):
                for txn, _ in pairs:
                    self._allocate(txn, table)
            case event_types.CommitTransaction(txn=txn) | event_types.AbortTransaction(txn=txn):
                return self._end(txn, addressed)
            case event_types.AlterTable(renamed=True) | event_types.OtherEvent(harmless=False):
                self.forget()
        return addressed

    def forget(self) -> None:
        """Forgets all transactions, because an event may have been missed."""
        self._tables.clear()

    def _begin(self, first: int, last: int) -> None:
        if last - first >= RANGE_MAX:
            return
        for txn in range(first, last + 1):
            self._tables.setdefault(txn, ())
        while len(self._tables) > TRACKED_MAX:
            del self._tables[next(iter(self._tables))]

    def _allocate(self, txn: int, table: TableName) -> None:
        tables = self._tables.get(txn)
        if tables is not None and table not in tables:
            self._tables[txn] = (*tables, table)

    def _end(self, txn: int, addressed: list[Addressed]) -> list[Addressed]:
        tables = self._tables.pop(txn, None)
        if tables is None:
            return addressed
        return [(table, action) for table in tables for _, action in addressed]
