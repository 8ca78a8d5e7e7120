"""Checks that the metastore logs each event in the transaction that it describes."""

from connectors.source import OpenTxns
from hive.events import event_types


class ListenerWatch:
    """Compares the open transactions with the OPEN_TXN events.

    A transactional listener commits the event with the transaction. So a transaction that opened
    while the connector was reading, but has no event, proves that the listener isn't
    (`hive.listener`).
    """

    def __init__(self) -> None:
        self._opened: set[int] = set()
        self._seen_before: frozenset[int] | None = None

    def see(self, event: event_types.Event) -> None:
        """Takes note of an event; events come in the order of the log."""
        if isinstance(event, event_types.OpenTransactions):
            for first, last in event.ranges:
                self._opened.update(range(first, last + 1))
        elif isinstance(event, event_types.CommitTransaction | event_types.AbortTransaction):
            self._opened.discard(event.txn)

    def unlogged(self, opened: OpenTxns) -> list[int]:
        """The open transactions without an OPEN_TXN event; all events up to `opened.at` must have
        been seen."""
        before, self._seen_before = self._seen_before, frozenset(opened.txns)
        if before is None:
            return []
        return sorted(opened.logged - before - self._opened)
