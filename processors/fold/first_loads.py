"""Open loads of tables that nothing was known of when they began."""

from typing import Final

from hive.names import TableName

_TABLES_MAX: Final = 4096


class FirstLoads:
    """The tables whose entries are all rows of their open load, as of one event.

    A table without a state has no entries. From the Begin of its first load until an event touches
    it, a row needs no comparison with what is stored, and the End finds nothing to delete. Most
    rows that a store ever gets are such rows.

    This is known in memory alone: a fold that begins in the middle of a load compares, with the
    same result.
    """

    def __init__(self) -> None:
        self._rows_at: dict[TableName, int | None] = {}
        """The `lo` of the rows by table; None before the first row."""

    def begin(self, table: TableName) -> None:
        """Notes the Begin of a load of a table without a state."""
        if len(self._rows_at) < _TABLES_MAX:
            self._rows_at[table] = None

    def forget(self, table: TableName) -> None:
        """Notes that there may be other entries of a table."""
        self._rows_at.pop(table, None)

    def take_rows(self, table: TableName, lo: int) -> bool:
        """Whether all entries of a table are rows as of `lo`; more of these are to be written."""
        try:
            rows_at = self._rows_at[table]
        except KeyError:
            return False
        if rows_at is None:
            self._rows_at[table] = lo
        elif rows_at != lo:
            self.forget(table)
            return False
        return True

    def end(self, table: TableName, lo: int) -> bool:
        """Whether a table has no entry from before `lo` and no tombstone, now that its load
        ends."""
        if table not in self._rows_at:
            return False
        rows_at = self._rows_at.pop(table)
        return rows_at is None or rows_at >= lo
