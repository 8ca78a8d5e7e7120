"""An open database and its column families, addressed by the first byte of a key."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any, Final

from rocksdict import ColumnFamily, Rdict, RdictIter, ReadOptions

from state.kv import in_one_kind
from state.store import metadata
from state.store.faults import Faults
from state.store.options import Family

_DEFAULT: Final = "default"
METADATA: Final = 1
"""The index of the metadata's family among all of a store."""


class ColumnFamilies:
    """The newest state, for the single writer; readers take a `StoreSnapshot`."""

    def __init__(self, database: Rdict, families: Sequence[Family], faults: Faults) -> None:
        names = [_DEFAULT, metadata.FAMILY, *(family.name for family in families)]
        self.faults = faults
        self.database: Rdict | None = database
        self.opened: list[Rdict] = [database.get_column_family(name) for name in names]
        self.handles: list[ColumnFamily] = [
            database.get_column_family_handle(name) for name in names
        ]
        route = bytearray(256)
        for index, family in enumerate(families, start=2):
            for kind in family.kinds:
                route[kind] = index
        self.route = bytes(route)

    @property
    def metadata(self) -> Rdict:
        return self.opened[METADATA]

    @property
    def metadata_handle(self) -> ColumnFamily:
        return self.handles[METADATA]

    def get(self, key: bytes) -> bytes | None:
        try:
            value: bytes | None = self.opened[self.route[key[0]]].get(key)
        except Exception as error:
            raise self.error(error) from error
        return value

    def scan(self, start: bytes, end: bytes) -> Iterator[tuple[bytes, bytes]]:
        return self._cursor(start, end).entries(start, end) if start < end else iter(())

    def _cursor(self, start: bytes, end: bytes) -> "Cursor":
        assert in_one_kind(start, end), "a scan crosses kinds"
        # RocksDB keeps a pointer to the bytes of the bound, which these options own.
        options = ReadOptions()
        options.set_iterate_upper_bound(end)
        try:
            iterator = self.opened[self.route[start[0]]].iter(options)
        except Exception as error:
            raise self.error(error) from error
        return Cursor(iterator, self.faults, options)

    def error(self, error: Exception) -> Exception:
        """The error to raise for one from rocksdict, or from the lists that `close` has emptied."""
        return self.faults.typed(error) if self.opened else self.faults.closed()

    def close(self) -> None:
        """Drops all references: RocksDB releases the directory with the last one."""
        database, self.database = self.database, None
        self.opened.clear()
        self.handles.clear()
        if database is not None:
            # The store is flushed or cold, so whatever makes closing fail was reported before.
            with suppress(Exception):
                database.close()


class Cursor:
    """A RocksDB iterator, shared by the scans that are running on it.

    `RdictItems`, the iterator that rocksdict offers for loops, ends without an error at a damaged
    block, as if there were no more entries. So this class walks an `RdictIter` and asks for its
    status at the end.
    """

    __slots__ = ("_faults", "_iterator", "_options", "_scan")

    def __init__(self, iterator: RdictIter, faults: Faults, options: Any = None) -> None:
        self._iterator: RdictIter | None = iterator
        self._faults = faults
        self._options = options
        self._scan: object = None

    def entries(
        self, start: bytes, end: bytes, _owner: object = None
    ) -> Iterator[tuple[bytes, bytes]]:
        """Reads the entries as they are asked for. `_owner`, whose end closes the cursor, lives as
        long as the scan does.
        """
        iterator = self._opened()
        scan = self._scan = object()
        iterator.seek(start)
        while (key := iterator.key()) is not None:
            if key >= end:
                return
            value = iterator.value()
            # Until the next entry is asked for, the iterator is the cursor's alone to drop.
            del iterator
            yield key, value
            iterator = self._iterator or self._opened()
            if self._scan is scan:
                iterator.next()
            else:
                self._scan = scan
                iterator.seek(key + b"\0")
        self._check(iterator)

    def keys(self, start: bytes, end: bytes, most: int) -> list[bytes]:
        """Reads all keys at once, so no other scan moves the iterator meanwhile."""
        iterator, self._scan = self._opened(), None
        key_of, advance = iterator.key, iterator.next
        collected: list[bytes] = []
        append = collected.append
        iterator.seek(start)
        for key in islice(iter(key_of, None), most):
            if key >= end:
                return collected
            append(key)
            advance()
        if len(collected) < most:
            self._check(iterator)
        return collected

    def values(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """Reads the values of these keys at once, seeking where one doesn't follow another."""
        iterator, self._scan = self._opened(), None
        key_of, value_of, advance = iterator.key, iterator.value, iterator.next
        values: list[bytes | None] = []
        at: bytes | None = None
        for key in keys:
            if at != key:
                iterator.seek(key)
                at = key_of()
                if at is None:
                    self._check(iterator)
            if at == key:
                values.append(value_of())
                advance()
                at = key_of()
            else:
                values.append(None)
        return values

    def close(self) -> None:
        """Drops the iterator. The next step of a scan that is running raises ClosedStoreError."""
        self._iterator = None

    def _opened(self) -> RdictIter:
        iterator = self._iterator
        if iterator is None:
            raise self._faults.closed()
        return iterator

    def _check(self, iterator: RdictIter) -> None:
        """Raises if the iterator ended because of damage."""
        try:
            iterator.status()
        except Exception as error:
            raise self._faults.typed(error) from error
