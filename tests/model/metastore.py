"""A toy metastore: what its database holds at each moment, and the log that it writes."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from connectors.publish.translate import EVERYWHERE, Addressed
from hive.names import DatabaseName, TableName, table_name
from hive.write_ids.lists import WriteIdList
from hive.write_ids.snapshot import (
    TxnRow,
    TxnState,
    WriteIdRow,
    open_txns,
    valid_write_ids,
)
from state.records.actions import AbortTxn, AllocateWriteIds, CommitTxn
from tests.model.content import Content
from tests.model.valid_txns import valid_txns

DBS = tuple(DatabaseName("hive", db) for db in "ab")
TABLES = tuple(table_name(None, db.db, table) for db in DBS for table in "suv")
OLD_MS = 9_999


class Event(NamedTuple):
    """A row of NOTIFICATION_LOG, and what a connector makes of it."""

    id: int
    text: str
    addressed: tuple[Addressed, ...]


class Write(NamedTuple):
    """A change of a table that carries a write id, whether its event says so or not."""

    event: int
    table_id: int
    life: int
    txn: int
    write_id: int


@dataclass(frozen=True)
class Moment:
    """All rows of the database; several moments have the same last event."""

    event: int = 0
    content: Content = field(default_factory=Content)
    txns: Mapping[int, TxnState] = field(default_factory=dict)
    next_txn: int = 1
    read_only: frozenset[int] = frozenset()
    ids: Mapping[TableName, Mapping[int, int]] = field(default_factory=dict)
    """TXN_TO_WRITE_ID: a table's transactions and their write ids."""
    next_ids: Mapping[TableName, int] = field(default_factory=dict)
    """NEXT_WRITE_ID."""
    lives: Mapping[TableName, int] = field(default_factory=dict)
    """Tells apart the write ids of a table from those after they began anew."""

    @property
    def open(self) -> list[int]:
        return [txn for txn, state in self.txns.items() if state is TxnState.OPEN]

    def txn_rows(self) -> list[TxnRow]:
        return [
            TxnRow(txn, state, OLD_MS, txn in self.read_only) for txn, state in self.txns.items()
        ]

    def id_rows(self, table: TableName) -> list[WriteIdRow]:
        return [WriteIdRow(txn, id_) for txn, id_ in self.ids.get(table, {}).items()]

    def valid_ids(self, table: TableName, reader: int | None) -> WriteIdList:
        """The list that a transaction reads by; for None, of a new one."""
        txns = open_txns(self.txn_rows(), with_read_only=False)
        seen = valid_txns(txns, txns.hwm + 1 if reader is None else reader)
        rows = self.id_rows(table)
        return valid_write_ids(seen, rows, self.next_ids.get(table), table.in_catalog)


@dataclass
class History:
    """What one epoch's log says; it begins after the event `base`."""

    base: int
    moments: list[Moment] = field(default_factory=list)
    log: dict[int, Event] = field(default_factory=dict)
    writes: list[Write] = field(default_factory=list)

    restarts: list[int] = field(default_factory=list)
    """Where in `moments` write ids of a table had begun anew without an event."""
    first: dict[int, Moment] = field(default_factory=dict)
    """The first moment after each event."""

    def add(self, moment: Moment) -> None:
        self.moments.append(moment)
        self.first.setdefault(moment.event, moment)


class Metastore:
    """Grows by events and by what happens without one."""

    def __init__(self, *, names_ids: bool) -> None:
        self.names_ids = names_ids
        """Whether COMMIT_TXN names write ids, as from 4.1 on."""
        self.now = Moment()
        self.histories = [History(0)]
        self.history.add(self.now)
        self.retained_from = 1
        """The cleaner has deleted what is older."""
        self.ended: list[dict[int, TxnState]] = [{}]
        """How transactions of each epoch ended, whatever the database still knows of it."""
        self.story: list[str] = []
        """What happened, for people."""
        self._numbers = 0

    @property
    def epoch(self) -> int:
        """How often the database was restored: what connectors have to find out."""
        return len(self.histories) - 1

    @property
    def history(self) -> History:
        return self.histories[-1]

    def number(self) -> int:
        """Differs from all that came before: an id of a table, or a value in an object."""
        self._numbers += 1
        return self._numbers

    def silently(self, text: str, **changes: Any) -> None:
        """Something changes without an event."""
        self.story.append(f"(without an event) {text}")
        self.now = replace(self.now, **changes)
        self.history.add(self.now)

    def happen(self, text: str, *addressed: Addressed, **changes: Any) -> int:
        """An event, and what it does to the database."""
        event = self.now.event + 1
        self.now = replace(self.now, event=event, **changes)
        self.history.add(self.now)
        self.history.log[event] = Event(event, text, addressed)
        self.story.append(f"event {event}: {text}")
        return event

    def restore(self, event: int) -> None:
        """The database is as it was after an earlier event, and goes on from there."""
        self.story.append(f"the database is put back to event {event}")
        self.now = [moment for moment in self.history.moments if moment.event == event][-1]
        self.histories.append(History(event))
        self.history.add(self.now)
        self.ended.append({})
        self.retained_from = min(self.retained_from, event + 1)

    def begin(self, *, read_only: bool = False) -> int:
        txn = self.now.next_txn
        changes: dict[str, Any] = {
            "txns": {**self.now.txns, txn: TxnState.OPEN},
            "next_txn": txn + 1,
        }
        if read_only:
            changes["read_only"] = self.now.read_only | {txn}
            self.silently(f"open {txn} to read", **changes)
        else:
            self.happen(f"open {txn}", **changes)
        return txn

    def allocate(self, table: TableName, txns: list[int]) -> None:
        """Gives new write ids; a transaction that has one gives it up."""
        first = self.now.next_ids.get(table, 1)
        ids = tuple(range(first, first + len(txns)))
        pairs = ", ".join(f"{txn}→{id_}" for txn, id_ in zip(txns, ids, strict=True))
        own_ids = {**self.now.ids.get(table, {}), **dict(zip(txns, ids, strict=True))}
        self.happen(
            f"alloc {table.in_catalog} {pairs}",
            (table, AllocateWriteIds(table, tuple(txns), ids)),
            ids={**self.now.ids, table: own_ids},
            next_ids={**self.now.next_ids, table: first + len(txns)},
            lives={**self.now.lives, table: self.now.lives.get(table) or self.number()},
        )

    def commit(self, txn: int) -> None:
        txns = self._end(txn, TxnState.COMMITTED)
        pairs = tuple((table.db, held[txn]) for table, held in self.now.ids.items() if txn in held)
        action = CommitTxn(txn, pairs if self.names_ids else None)
        if txn in self.now.read_only:
            self.silently(f"commit {txn}", txns=txns)
        else:
            self.happen(f"commit {txn}", (EVERYWHERE, action), txns=txns)

    def abort(self, txn: int, *, silently: bool = False) -> None:
        """Silently: by a conflict, or a transaction that only reads."""
        txns = self._end(txn, TxnState.ABORTED)
        if silently or txn in self.now.read_only:
            self.silently(f"abort {txn}", txns=txns)
        else:
            self.happen(f"abort {txn}", (EVERYWHERE, AbortTxn(txn)), txns=txns)

    def _end(self, txn: int, state: TxnState) -> dict[int, TxnState]:
        self.ended[-1][txn] = state
        return {**self.now.txns, txn: state}

    def purge(self) -> None:
        """Aborted transactions were cleaned up, but the newest, which tells how many there were;
        and write ids that no list needs are forgotten."""
        newest = max(self.now.txns, default=0)
        remaining = {
            txn: state
            for txn, state in self.now.txns.items()
            if state is not TxnState.ABORTED or txn == newest
        }
        least = min(self.now.open, default=max(remaining, default=0))
        ids = {
            table: {txn: id_ for txn, id_ in held.items() if txn >= least}
            for table, held in self.now.ids.items()
        }
        self.silently("purge", txns=remaining, ids=ids)

    def without_ids(self, *tables: TableName) -> dict[str, Any]:
        """The change that makes the write ids of tables begin anew."""
        return {
            "ids": {table: ids for table, ids in self.now.ids.items() if table not in tables},
            "next_ids": {t: next_ for t, next_ in self.now.next_ids.items() if t not in tables},
            "lives": {table: life for table, life in self.now.lives.items() if table not in tables},
        }

    def note_write(self, table: TableName, table_id: int, txn: int) -> None:
        """The last event was a write of a transaction."""
        write_id = self.now.ids.get(table, {}).get(txn)
        if write_id is not None:
            life = self.now.lives[table]
            self.history.writes.append(Write(self.now.event, table_id, life, txn, write_id))
