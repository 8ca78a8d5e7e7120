"""The whitelist and the blacklist of tables: one rule for what is loaded, folded and served."""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from hive.errors import InputError
from hive.names import TableName
from hive.patterns import compile_pattern


class TableLists:
    """Hive's patterns over `db.table`. A table is cached if a white pattern matches it or there are
    no white patterns, and no black pattern matches it."""

    def __init__(self, whitelist: Sequence[str] = (), blacklist: Sequence[str] = ()) -> None:
        self._white = [compile_pattern(pattern) for pattern in whitelist]
        self._black = [compile_pattern(pattern) for pattern in blacklist]
        self.open = not self._white and not self._black

    def allow(self, table: TableName) -> bool:
        """Whether a table is cached."""
        if self.open:
            return True
        text = table.in_catalog
        return (not self._white or _any(self._white, text)) and not _any(self._black, text)


@lru_cache(maxsize=16_384)
def is_cached(whitelist: tuple[str, ...], blacklist: tuple[str, ...], table: TableName) -> bool:
    """Whether a table is cached; answers are remembered, because the lists seldom change."""
    return _lists(whitelist, blacklist).allow(table)


def check_patterns(patterns: Iterable[str]) -> None:
    """Refuses patterns of which a part can't match a table, and those that can't be read."""
    for pattern in patterns:
        compile_pattern(pattern)
        for part in pattern.split("|"):
            dots = part.count(".")
            if dots > 1 or "," in part or not (dots or "*" in part):
                raise InputError(f"the pattern {part!r} names no table: write db.table or db.*")


_lists = lru_cache(maxsize=64)(TableLists)


def _any(patterns: list[re.Pattern[str]], text: str) -> bool:
    return any(pattern.fullmatch(text) for pattern in patterns)
