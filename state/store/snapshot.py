"""A snapshot of a store, for readers."""

from collections.abc import Iterator, Sequence

import rocksdict

from state.kv import in_one_kind
from state.store import metadata
from state.store.column_families import METADATA, ColumnFamilies, Cursor
from state.store.metadata import StorePosition

_NOT_FOUND = ("key not found",)


class StoreSnapshot:
    """The entries and the position of one moment. One reader owns it, for one request.

    With rocksdict's own snapshots, gets answer from their moment, but iterators show the newest
    state (0.3.29 sets the snapshot on options that it then doesn't use). A RocksDB iterator stays
    at the moment of its creation. So this class makes an iterator of each family together with the
    snapshots, while no commit can come between; all scans of a family share it.
    """

    __slots__ = ("__weakref__", "_cursors", "_families", "_route", "_views")

    def __init__(self, families: ColumnFamilies) -> None:
        self._families = families
        self._route = families.route
        self._views: list[rocksdict.Snapshot] = [family.snapshot() for family in families.opened]
        self._cursors = [Cursor(family.iter(), families.faults) for family in families.opened]

    @property
    def position(self) -> StorePosition:
        try:
            return metadata.decode_position(self._views[METADATA][metadata.POSITION_KEY])
        except Exception as error:
            raise self._error(error) from error

    def get(self, key: bytes) -> bytes | None:
        try:
            value: bytes = self._views[self._route[key[0]]][key]
        except Exception as error:
            if error.args == _NOT_FOUND:
                return None
            raise self._error(error) from error
        return value

    def scan(self, start: bytes, end: bytes) -> Iterator[tuple[bytes, bytes]]:
        return self._cursor(start, end).entries(start, end, self) if start < end else iter(())

    def keys(self, start: bytes, end: bytes, most: int) -> list[bytes]:
        return self._cursor(start, end).keys(start, end, most) if start < end else []

    def values(self, keys: Sequence[bytes]) -> list[bytes | None]:
        return self._cursor_of(keys[0]).values(keys) if keys else []

    def _cursor(self, start: bytes, end: bytes) -> Cursor:
        assert in_one_kind(start, end), "a scan crosses kinds"
        return self._cursor_of(start)

    def _cursor_of(self, key: bytes) -> Cursor:
        try:
            return self._cursors[self._route[key[0]]]
        except IndexError as error:
            raise self._error(error) from error

    def close(self) -> None:
        """Lets RocksDB drop what only this snapshot still sees. Scans that are running end with a
        ClosedStoreError.
        """
        self._views.clear()
        for cursor in self._cursors:
            cursor.close()
        self._cursors.clear()

    def _error(self, error: Exception) -> Exception:
        return self._families.faults.typed(error) if self._views else self._families.faults.closed()
