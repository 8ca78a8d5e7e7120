"""Which keys of tables have plain values in all partitions, remembered across commits."""

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from hive.filters.plain_values import unplain_keys
from hive.filters.semantics import PartitionKey, Values
from hive.names import DEFAULT_PARTITION, TableName
from state import keys
from state.kv import View
from state.shard_reader import ShardReader
from state.store import Commits

TABLES_MAX: Final = 4096


class _Summary(NamedTuple):
    """What was seen of all partitions of a table."""

    commits: Commits
    commit: int
    """What commits up to here put is included."""
    oldest: int
    """Snapshots of earlier commits may show other partitions."""
    keys: tuple[PartitionKey, ...]
    unplain: frozenset[int] | None = None
    """The positions of keys of which some value isn't plain; None if nobody has looked."""
    read: int = 0
    """The partitions were read as of this commit, or of a later one."""


class PlainTables:
    """Reads all partitions of a table once, and afterwards those that commits put.

    1. It looks at a table when it is asked the second time, and only if what it would have seen the
       first time could have been brought up to date. So where that is never so, because commits are
       too large, it costs nothing.
    2. Several threads may use it: what they remember is replaced as a whole.
    """

    def __init__(self) -> None:
        self._summaries: dict[TableName, _Summary] = {}

    def are_plain(
        self,
        table: TableName,
        columns: tuple[PartitionKey, ...],
        positions: frozenset[int],
        reader: "OwnReader",
        read: Callable[[], Iterable[Values]],
    ) -> bool:
        """Whether all values of the keys at these positions are plain in the reader's snapshot;
        False if that isn't known.

        `read` reads all partitions of that snapshot.
        """
        summary = self._summaries.get(table)
        if summary is None or summary.commits is not reader.commits or summary.keys != columns:
            summary = _Summary(reader.commits, reader.commit, reader.commit, columns)
        elif reader.commit < summary.oldest:
            return False
        else:
            summary = _renewed(summary, table, positions, reader, read)
        if len(self._summaries) >= TABLES_MAX:
            self._summaries.clear()
        self._summaries[table] = summary
        return summary.unplain is not None and summary.unplain.isdisjoint(positions)


class OwnReader(ShardReader):
    """A reader that isn't shared, for another thread."""

    def __init__(self, view: View, tables: PlainTables, commits: Commits, commit: int) -> None:
        """The view shows this commit or a later one."""
        super().__init__(view)
        self.plain_tables: Final = tables
        self.commits: Final = commits
        self.commit: Final = commit


def _renewed(
    summary: _Summary,
    table: TableName,
    positions: frozenset[int],
    reader: OwnReader,
    read: Callable[[], Iterable[Values]],
) -> _Summary:
    suffix = keys.table_suffix(table)
    # What is counted here was noted before, so it is among what was put.
    commit = summary.commits.count
    put = summary.commits.partitions_put(suffix, summary.commit)
    partitions = [keys.partition_values(key) for key in put or ()]
    # The name of the default partition in a key may stand for an empty value.
    if put is None or any(DEFAULT_PARTITION in values for values in partitions):
        return _Summary(summary.commits, commit, summary.oldest, summary.keys)
    if summary.unplain is None:
        return _look(summary.keys, suffix, reader, read)
    if not summary.unplain.isdisjoint(positions):
        # The values that aren't plain may be gone.
        if summary.commits.untouched((suffix,), summary.read):
            return summary
        return _Summary(summary.commits, commit, summary.oldest, summary.keys)
    unplain = summary.unplain | unplain_keys(summary.keys, partitions)
    return summary._replace(commit=commit, unplain=unplain)


def _look(
    columns: tuple[PartitionKey, ...],
    suffix: bytes,
    reader: OwnReader,
    read: Callable[[], Iterable[Values]],
) -> _Summary:
    commits, commit = reader.commits, reader.commit
    unplain = unplain_keys(columns, read())
    # A commit shows before it counts, so this snapshot may show one more than is counted.
    newest = commits.count + 1
    oldest = commit if commits.untouched((suffix,), commit) else newest
    return _Summary(commits, commit, oldest, columns, unplain, commit)
