"""A toy metastore: the transaction tables of one table, and the events that it writes."""

from copy import deepcopy
from dataclasses import dataclass, field

from hive.write_ids.pages import Ended, Loaded, WriteIdsCold
from hive.write_ids.snapshot import TxnRow, TxnState, WriteIdRow, loaded_write_ids, open_txns
from hive.write_ids.tracker import WriteIdTracker


@dataclass
class Rows:
    """What the database holds, and what it has forgotten but is true."""

    txns: dict[int, TxnState] = field(default_factory=dict)
    ids: dict[int, int] = field(default_factory=dict)
    """Transaction → write id, the rows of TXN_TO_WRITE_ID."""
    next_id: int = 1
    committed: set[int] = field(default_factory=set)
    lives: int = 1
    """How often the ids have begun."""
    restarted: bool = False
    """The ids were cleared, and no event has said so yet."""


@dataclass(frozen=True)
class Event:
    id: int
    kind: str
    txn: int = 0
    pairs: tuple[tuple[int, int], ...] = ()
    named: frozenset[int] | None = None


class ToyMetastore:
    """Each method but those that say otherwise writes one event."""

    def __init__(self, *, names_ids: bool) -> None:
        self.names_ids = names_ids
        self.rows = Rows()
        self.events: list[Event] = []
        self.after: list[Rows] = [deepcopy(self.rows)]
        """The rows right after each event; the first entry is before any."""

    def _write(self, kind: str, **fields: object) -> None:
        self.events.append(Event(len(self.events) + 1, kind, **fields))  # type: ignore[arg-type]
        self.after.append(deepcopy(self.rows))

    def _open_txns(self) -> list[int]:
        return [txn for txn, state in self.rows.txns.items() if state is TxnState.OPEN]

    def begin(self, count: int) -> list[int]:
        """Transactions open; nothing is written that concerns a table."""
        first = len(self.rows.txns) + 1
        self.rows.txns.update(dict.fromkeys(range(first, first + count), TxnState.OPEN))
        return list(range(first, first + count))

    def alloc(self, count: int) -> None:
        txns = self.begin(count)
        self._give(txns)

    def realloc(self, which: int) -> None:
        """A transaction that holds an id, or none, gives it up and gets a new one."""
        if txns := self._open_txns():
            txn = txns[which % len(txns)]
            self.rows.ids.pop(txn, None)
            self._give([txn])

    def _give(self, txns: list[int]) -> None:
        first = self.rows.next_id
        pairs = tuple((txn, first + index) for index, txn in enumerate(txns))
        self.rows.ids.update(pairs)
        self.rows.next_id += len(txns)
        self.rows.restarted = False
        self._write("alloc", pairs=pairs)

    def commit(self, which: int) -> None:
        if txns := self._open_txns():
            txn = txns[which % len(txns)]
            self.rows.txns[txn] = TxnState.COMMITTED
            write_id = self.rows.ids.get(txn)
            if write_id is not None:
                self.rows.committed.add(write_id)
            named = frozenset(() if write_id is None else (write_id,))
            self._write("commit", txn=txn, named=named if self.names_ids else None)

    def abort(self, which: int) -> None:
        if txns := self._open_txns():
            txn = txns[which % len(txns)]
            self.rows.txns[txn] = TxnState.ABORTED
            self._write("abort", txn=txn)

    def abort_silently(self, which: int) -> None:
        """A write-write conflict: no event."""
        if txns := self._open_txns():
            self.rows.txns[txns[which % len(txns)]] = TxnState.ABORTED

    def purge(self, which: int) -> None:
        """Rows of finished transactions go; no event."""
        for txn in [txn for txn in self.rows.ids if self.rows.txns[txn] is not TxnState.OPEN]:
            del self.rows.ids[txn]

    def restart(self, which: int) -> None:
        """A drop that was rolled back cleared the ids; no event."""
        self._clear()
        self.rows.restarted = True

    def drop(self, which: int) -> None:
        self._clear()
        self._write("drop")

    def _clear(self) -> None:
        self.rows.ids, self.rows.next_id, self.rows.committed = {}, 1, set()
        self.rows.lives += 1

    def write(self, which: int) -> None:
        """An event about the table with the write id of an open transaction."""
        if self.rows.ids:
            txns = sorted(self.rows.ids)
            self._write("write", txn=self.rows.ids[txns[which % len(txns)]])

    def other(self, which: int) -> None:
        """An event about something else."""
        self._write("other")

    def load(self, txns_at: int, ids_at: int, next_at: int, lo: int, hi: int) -> Loaded:
        """Statements that each ran right after some event from `lo` to `hi`."""
        states = self.after[txns_at].txns
        txns = open_txns([TxnRow(txn, state, 9999) for txn, state in states.items()])
        rows = [WriteIdRow(txn, id_) for txn, id_ in self.after[ids_at].ids.items()]
        return loaded_write_ids(lo, hi, txns, rows, self.after[next_at].next_id)

    def ended(self, upto: int) -> dict[int, Ended]:
        """How transactions ended, as the fold of all events up to one knows it."""
        return {
            event.txn: Ended(event.id, event.kind == "commit", event.named)
            for event in self.events[:upto]
            if event.kind in ("commit", "abort")
        }


def fold(ids: WriteIdTracker, event: Event) -> None:
    match event.kind:
        case "alloc":
            ids.alloc(event.id, event.pairs)
        case "commit":
            ids.commit(event.id, event.txn, event.named)
        case "abort":
            ids.abort(event.id, event.txn)
        case "drop":
            ids.forget(event.id, WriteIdsCold.DROPPED)
        case "write":
            ids.see(event.id, event.txn)
