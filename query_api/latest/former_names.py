"""Former names of renamed tables, which rows of the log may still use."""

from collections.abc import Iterator, Mapping
from typing import Final

from hive.names import TableName
from query_api.latest.log_end import ROWS_MAX
from state.records.actions import MISNAMED_EVENTS_MAX

KEPT_EVENTS: Final = MISNAMED_EVENTS_MAX + 5 * ROWS_MAX
"""For how many events after it was seen a former name is remembered. Rows use it for
`MISNAMED_EVENTS_MAX` at most. What lags behind by more than the rest can't be confirmed by a read
of the log, which shows fewer rows."""
FORGETS_FROM: Final = 1024

Names = tuple[TableName, ...]


class FormerNames(Mapping[TableName, Names]):
    """The former names of tables by their names, and of databases into which a table was moved.

    What no row can use any more is forgotten when there are many: nobody asks again for a table
    that was dropped.
    """

    def __init__(self) -> None:
        self._names: dict[TableName, Names] = {}
        self._noted_at: dict[TableName, int] = {}
        self._forgets_from = FORGETS_FROM

    def note(self, table: TableName, names: Names, applied: int) -> None:
        """Notes what a shard that has applied this event says of a table."""
        if names:
            self._names[table] = names
            self._noted_at[table] = applied
            if len(self._names) >= self._forgets_from:
                self._forget_before(applied - KEPT_EVENTS)
        elif self._names and table in self._names:
            self._forget(table)

    def __getitem__(self, table: TableName) -> Names:
        return self._names[table]

    def __contains__(self, table: object) -> bool:
        return table in self._names

    def __iter__(self) -> Iterator[TableName]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def _forget_before(self, event: int) -> None:
        for table, noted_at in list(self._noted_at.items()):
            if noted_at < event:
                self._forget(table)
        self._forgets_from = max(FORGETS_FROM, 2 * len(self._names))

    def _forget(self, table: TableName) -> None:
        self._names.pop(table, None)
        self._noted_at.pop(table, None)
