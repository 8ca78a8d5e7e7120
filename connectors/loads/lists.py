"""The whitelist and the blacklist of the tables that are loaded."""

from collections.abc import Sequence

from hive.errors import InputError
from hive.names import TableName
from hive.patterns import compile_pattern


class Lists:
    """Hive's patterns over `db.table`. A table is loaded when a white pattern matches it, or there
    is none, and no black pattern does."""

    def __init__(self, whitelist: Sequence[str] = (), blacklist: Sequence[str] = ()) -> None:
        for pattern in (*whitelist, *blacklist):
            if "." not in pattern:
                raise InputError(f"the pattern {pattern!r} names no table: write db.table or db.*")
        self._white = [compile_pattern(pattern) for pattern in whitelist]
        self._black = [compile_pattern(pattern) for pattern in blacklist]

    def allow(self, table: TableName) -> bool:
        """Whether a table is loaded."""
        text = table.in_catalog
        white = not self._white or any(pattern.fullmatch(text) for pattern in self._white)
        return white and not any(pattern.fullmatch(text) for pattern in self._black)
