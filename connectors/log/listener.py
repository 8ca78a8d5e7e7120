"""Checks that the metastore logs each event in the transaction that it describes."""

from connectors.log.source import OpenTxns
from hive.events import event_types

_ENDS = (event_types.CommitTransaction, event_types.AbortTransaction)


class ListenerWatch:
    """Compares the open transactions with the OPEN_TXN events.

    A transactional listener commits the event with the transaction. So a transaction that opened
    while the connector was reading, but has no event up to the moment at which it was seen open,
    proves that the listener isn't (`hive.listener`).
    """

    def __init__(self) -> None:
        self._opened: set[int] = set()
        """Transactions whose OPEN_TXN was read, but not yet their end."""
        self._before: frozenset[int] | None = None
        """The transactions of the last look; None if events since then are missing."""
        self._looked_at = 0
        self._suspects: set[int] = set()

    def see(self, event: event_types.Event) -> None:
        """Takes note of an event; events come in the order of the log."""
        if isinstance(event, event_types.OpenTransactions):
            for first, last in event.ranges:
                opened = range(first, last + 1)
                self._opened.update(opened)
                if event.event_id <= self._looked_at:
                    self._suspects.difference_update(opened)
        elif isinstance(event, _ENDS):
            self._opened.discard(event.txn)

    def miss(self) -> None:
        """Notes that events can't be read, OPEN_TXN perhaps among them: only transactions that open
        after the next look prove anything."""
        self._before = None
        self._suspects.clear()

    def look(self, opened: OpenTxns) -> None:
        """Takes note of the transactions that are open at `opened.at`, which may lie ahead of the
        last event seen."""
        before, self._before = self._before, frozenset(opened.txns)
        self._looked_at = opened.at
        self._suspects = set() if before is None else set(opened.logged - before - self._opened)

    def unlogged(self) -> list[int]:
        """The transactions of the last look without an OPEN_TXN event; all events up to it must
        have been seen."""
        unlogged, self._suspects = sorted(self._suspects), set()
        return unlogged
