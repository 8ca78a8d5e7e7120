"""The working set of a fold: one transaction, and the states decoded from it."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Generic, TypeVar

import msgspec

from hive.names import DatabaseName, TableName
from hive.write_ids.tracker import WriteIdTracker
from processors.fold.signals import Signal
from state import keys, kv, shard_head, tables
from state.kv import Transaction
from state.loads import Loads, OpenLoad
from state.records import Scope
from state.records.table_lists import TableLists
from state.tables import TableState
from state.write_id_pages import PrefixPages

K = TypeVar("K")
S = TypeVar("S")

_loads_decoder = msgspec.msgpack.Decoder(Loads)
_encode: Callable[[object], bytes] = msgspec.msgpack.Encoder().encode


class Cached(Generic[K, S]):
    """States of one kind, decoded once and written back when the batch is full.

    Records touch the same few states again and again; decoding and encoding them each time would
    cost more than the rest of the fold. A state stays until `drop`, across commits too.
    """

    def __init__(
        self,
        txn: Transaction,
        key_of: Callable[[K], bytes],
        decode: Callable[[bytes], S],
        encode: Callable[[S], bytes],
    ) -> None:
        self._txn = txn
        self._key_of = key_of
        self._decode = decode
        self._encode = encode
        self._states: dict[K, S | None] = {}
        self._dirty: set[K] = set()

    def get(self, name: K) -> S | None:
        """The state; whoever changes it must `put` it."""
        try:
            return self._states[name]
        except KeyError:
            value = self._txn.get(self._key_of(name))
            state = None if value is None else self._decode(value)
            self._states[name] = state
            return state

    def touch(self, name: K) -> S | None:
        """The state, marked as changed."""
        state = self.get(name)
        if state is not None:
            self._dirty.add(name)
        return state

    def put(self, name: K, state: S | None) -> None:
        """Keeps a state to be written; None deletes it."""
        self._states[name] = state
        self._dirty.add(name)

    def flush(self) -> None:
        """Writes the changed states into the transaction."""
        for name in self._dirty:
            key, state = self._key_of(name), self._states[name]
            if state is None:
                self._txn.delete(key)
            else:
                self._txn.put(key, self._encode(state))
        self._dirty.clear()

    def __len__(self) -> int:
        return len(self._states)

    def drop(self) -> None:
        """Forgets all states, written or not."""
        self._states.clear()
        self._dirty.clear()


class WorkingSet:
    """The data that the handlers of records work on.

    Invariants: 1. an entry of a table, a name or a database has a state beside it; 2. everything
    that a handler changes is in `txn` after `flush`; 3. nobody else changes what `txn` reads.
    """

    def __init__(self, txn: Transaction) -> None:
        self.txn = txn
        self.head = shard_head.decode(txn.get(keys.HEAD))
        self.lists = TableLists(self.head.whitelist, self.head.blacklist)
        self.signals: dict[Scope, Signal] = {}
        self.loads: Cached[bytes, Loads] = Cached(txn, bytes, _loads_decoder.decode, _encode)
        self.tables: Cached[TableName, TableState] = Cached(
            txn, partial(keys.of_table, keys.TABLE_STATE), tables.decode, tables.encode
        )
        self._write_ids: dict[TableName, WriteIdTracker] = {}

    def table(self, name: TableName) -> TableState | None:
        """The state of a table; None for an unknown one."""
        return self.tables.get(name)

    def touch_table(self, name: TableName) -> TableState:
        """The state of a table whose entries may change, marked as changed; a new one for an
        unknown table."""
        state = self.touch_state(name)
        if state.loads.open is not None:
            state.loads.open.first = False
        return state

    def touch_state(self, name: TableName) -> TableState:
        """As `touch_table`, for loads: what they write are their rows."""
        state = self.tables.touch(name)
        if state is None:
            floor = self.head.lists_floor
            state = TableState(Loads(floor=floor), Loads(floor=floor))
            self.tables.put(name, state)
        return state

    def forget_table(self, name: TableName) -> None:
        self.tables.put(name, None)

    def write_ids(self, name: TableName) -> WriteIdTracker:
        """The write ids of a table; changes go straight to the transaction."""
        ids = self._write_ids.get(name)
        if ids is None:
            pages = PrefixPages(self.txn, keys.of_table(keys.WRITE_IDS, name))
            ids = self._write_ids[name] = WriteIdTracker(pages)
        return ids

    def forget_write_ids(self, name: TableName) -> None:
        """Deletes the write ids, here and in the transaction."""
        self._write_ids.pop(name, None)
        kv.delete_prefix(self.txn, keys.of_table(keys.WRITE_IDS, name))

    def touch_loads(self, key: bytes) -> Loads:
        """The loads of a list of names or databases, marked as changed; new ones for an unknown
        list."""
        loads = self.loads.get(key) or Loads()
        self.loads.put(key, loads)
        return loads

    def table_names(self, prefix: bytes = keys.TABLE_STATE) -> Iterator[TableName]:
        """The known tables below a prefix of states, in order."""
        self.flush()
        for key, _ in kv.scan_prefix(self.txn, prefix):
            yield keys.table_of(key)

    def names_of(self, db: DatabaseName) -> Loads:
        """The loads of a database's names, marked as changed."""
        return self.touch_loads(keys.of_database(keys.NAMES_LOADS, db))

    def databases_of(self, catalog: str) -> Loads:
        """The loads of a catalog's databases, marked as changed."""
        return self.touch_loads(keys.of_catalog(keys.CATALOG_LOADS, catalog))

    def open_load(self, loads: Loads, load: str, *, first: bool) -> None:
        """Begins a load, in place of any that is open."""
        if loads.open is None:
            self.head.loads_open += 1
        deferred = loads.open.deferred if loads.open else 0
        loads.open = OpenLoad(
            load,
            deferred=deferred,
            row_before=loads.newest_row,
            applied=self.head.applied,
            first=first,
        )

    def close_load(self, loads: Loads) -> None:
        """Ends a load; after the last one, the ends of transactions are dropped."""
        assert loads.open is not None
        loads.open = None
        self.head.loads_open -= 1
        if not self.head.loads_open and self.head.ended_count:
            self.head.ended_count = 0
            kv.delete_prefix(self.txn, keys.ENDED_TXN)

    @property
    def decoded_count(self) -> int:
        return len(self.loads) + len(self.tables) + len(self._write_ids)

    def forget(self) -> None:
        """Drops all decoded states, written or not."""
        self.loads.drop()
        self.tables.drop()
        self._write_ids.clear()

    def signal(self, scope: Scope, floor: int) -> None:
        """Asks for a load; each scope keeps its greatest floor."""
        signal = self.signals.get(scope)
        if signal is None or signal.floor < floor:
            self.signals[scope] = Signal(scope, floor)

    def flush(self) -> None:
        """Writes the decoded states into the transaction."""
        self.loads.flush()
        self.tables.flush()
        self.txn.put(keys.HEAD, shard_head.encode(self.head))
