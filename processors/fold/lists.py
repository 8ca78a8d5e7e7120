"""The whitelist and the blacklist of the tables that are cached."""

import re
from collections.abc import Sequence

from hive.names import TableName
from hive.patterns import compile_pattern


class Lists:
    """A whitelist and a blacklist of Hive's patterns over `db.table`; empty lists let every table
    in."""

    def __init__(self, whitelist: Sequence[str], blacklist: Sequence[str]) -> None:
        self._white = [compile_pattern(pattern) for pattern in whitelist]
        self._black = [compile_pattern(pattern) for pattern in blacklist]
        self.open = not self._white and not self._black

    def allow(self, table: TableName) -> bool:
        """Whether a table is cached."""
        if self.open:
            return True
        text = table.in_catalog
        return (not self._white or _any(self._white, text)) and not _any(self._black, text)


def _any(patterns: list[re.Pattern[str]], text: str) -> bool:
    return any(pattern.fullmatch(text) for pattern in patterns)
