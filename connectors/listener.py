"""Whether the metastore logs its events in the transactions that they tell of."""

from connectors.source import OpenTxns
from hive.events import event_types


class ListenerWatch:
    """Compares the open transactions with the OPEN_TXN events.

    Only a transactional listener hears of transactions, and their event commits with them. So one
    that opened while we were reading, and has no event, was opened beside such a listener.
    """

    def __init__(self) -> None:
        self._opened: set[int] = set()
        self._seen_before: frozenset[int] | None = None

    def see(self, event: event_types.Event) -> None:
        """Takes in an event, in the order of the log."""
        if isinstance(event, event_types.OpenTransactions):
            for first, last in event.ranges:
                self._opened.update(range(first, last + 1))
        elif isinstance(event, event_types.CommitTransaction | event_types.AbortTransaction):
            self._opened.discard(event.txn)

    def unlogged(self, found: OpenTxns) -> list[int]:
        """Transactions without their event, all events up to `found.at` having been seen."""
        before, self._seen_before = self._seen_before, frozenset(found.txns)
        if before is None:
            return []
        return sorted(found.logged - before - self._opened)
