"""Tables that are read often, decoded once for as long as their bytes last."""

from collections.abc import Hashable, Iterator
from typing import Any, Final

import msgspec

from hive.names import TableName
from query_api.facts import Facts
from query_api.targets import TargetKind
from state import entries, keys, tables
from state.entries import Entry
from state.kv import View, after
from state.shard_reader import ShardReader
from state.store import Commits
from state.tables import TableState

BYTES_MAX: Final = 16 * 1024 * 1024
FEW_PARTITIONS: Final = 100
"""So many partitions are read in less time than it takes to hand the read to a thread."""
_DECODED_FACTOR: Final = 4
"""A decoded state takes about this many times its bytes."""


class HotTable(msgspec.Struct, eq=False):
    """A table as it was at a commit, and has been since."""

    commits: Commits
    commit: int
    state: TableState | None
    """Shared by all who read it, so none may change it."""
    table: Entry | None
    suffix: bytes
    """The part that all keys of the table share."""
    size: int
    few_partitions: bool | None = None
    """Whether it has few partitions; None if nobody has counted them."""


class HotTables:
    """Remembers tables across commits that don't touch them, up to a total size.

    Only the thread of the event loop may use it.
    """

    def __init__(self, bytes_max: int = BYTES_MAX) -> None:
        self._bytes_max = bytes_max
        self._tables: dict[TableName, HotTable] = {}
        self._bytes = 0

    def __iter__(self) -> Iterator[TableName]:
        return iter(self._tables)

    def get(self, name: TableName, view: View, commits: Commits, commit: int) -> HotTable:
        """The table in a view, which shows this commit or a later one."""
        hot = self._tables.get(name)
        if (
            hot is not None
            and hot.commits is commits
            and hot.commit <= commit
            # Checked for an equal commit, too: of two views one may show the next commit already.
            and commits.untouched((hot.suffix,), hot.commit)
        ):
            return hot
        return self._read(name, view, commits, commit)

    def has_few_partitions(
        self, name: TableName, view: View, commits: Commits, commit: int
    ) -> bool:
        """Whether the table in such a view has `FEW_PARTITIONS` at most; they are counted once."""
        hot = self.get(name, view, commits, commit)
        if hot.few_partitions is None:
            start = keys.PARTITION + hot.suffix
            counted = view.keys(start, after(start), FEW_PARTITIONS + 1)
            hot.few_partitions = len(counted) <= FEW_PARTITIONS
        return hot.few_partitions

    def _read(self, name: TableName, view: View, commits: Commits, commit: int) -> HotTable:
        suffix = keys.table_suffix(name)
        state = view.get(keys.TABLE_STATE + suffix)
        table = view.get(keys.TABLE + suffix)
        row = entries.live(table)
        hot = HotTable(
            commits,
            commit,
            None if state is None else tables.decode(state),
            None if row is None else entries.decode(row),
            suffix,
            _DECODED_FACTOR * len(state or b"") + len(table or b"") + len(suffix),
        )
        self._put(name, hot)
        return hot

    def _put(self, name: TableName, hot: HotTable) -> None:
        before = self._tables.pop(name, None)
        self._bytes += hot.size - (0 if before is None else before.size)
        self._tables[name] = hot
        while self._bytes > self._bytes_max:
            self._bytes -= self._tables.pop(next(iter(self._tables))).size


class SharedReader(ShardReader):
    """A reader that all requests between two commits share, with what they find out."""

    def __init__(self, view: View, hot: HotTables, commits: Commits, commit: int) -> None:
        """The view shows this commit or a later one."""
        super().__init__(view)
        self._hot = hot
        self._commits = commits
        self._commit = commit
        self.facts: dict[tuple[TargetKind, TableName], Facts] = {}
        """What was found out about targets, without write ids."""
        self.grounds: dict[Hashable, Any] = {}
        """What reads that take any state share, by their groups."""

    def state(self, table: TableName) -> TableState | None:
        return self._hot.get(table, self.view, self._commits, self._commit).state

    def table(self, table: TableName) -> Entry | None:
        return self._hot.get(table, self.view, self._commits, self._commit).table

    def has_few_partitions(self, table: TableName) -> bool:
        return self._hot.has_few_partitions(table, self.view, self._commits, self._commit)
