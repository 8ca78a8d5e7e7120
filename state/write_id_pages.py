"""The pages of a table's write ids, in the key space of its shard."""

from collections.abc import Iterator

from hive.names import TableName
from hive.write_ids.view import WriteIdView
from state import keys, kv
from state.kv import Transaction, View


class PrefixReader:
    """Reads the pages below a prefix."""

    def __init__(self, view: View, prefix: bytes) -> None:
        self._view = view
        self._prefix = prefix

    def get(self, key: bytes) -> bytes | None:
        return self._view.get(self._prefix + key)

    def scan(self, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        length = len(self._prefix)
        for key, value in kv.scan_prefix(self._view, self._prefix + prefix):
            yield key[length:], value


class PrefixPages(PrefixReader):
    """Reads and changes the pages below a prefix."""

    def __init__(self, txn: Transaction, prefix: bytes) -> None:
        super().__init__(txn, prefix)
        self._txn = txn

    def put(self, key: bytes, value: bytes) -> None:
        self._txn.put(self._prefix + key, value)

    def delete(self, key: bytes) -> None:
        self._txn.delete(self._prefix + key)

    def delete_prefix(self, prefix: bytes) -> None:
        kv.delete_prefix(self._txn, self._prefix + prefix)


def known_write_ids(view: View, table: TableName) -> WriteIdView:
    """The write ids of a table in this view."""
    return WriteIdView(PrefixReader(view, keys.of_table(keys.WRITE_IDS, table)))
