"""The tables that the cache most often didn't answer for, and why."""

from collections import Counter, OrderedDict
from typing import Final

import msgspec

from hive.names import TableName
from query_api.reasons import Reason

TABLES_MAX: Final = 10_000
"""Of more tables, those that were missed longest ago are forgotten."""


class MissedTable(msgspec.Struct, frozen=True):
    """A table, and how many of its reads the cache didn't answer, by reason."""

    table: str
    misses: int
    reasons: dict[str, int]


class MissedTables:
    """Counts since the worker began. Only one thread counts, so that no lock is needed."""

    def __init__(self) -> None:
        self._misses: OrderedDict[TableName, Counter[Reason]] = OrderedDict()

    def note(self, table: TableName, reason: Reason) -> None:
        counts = self._misses.get(table)
        if counts is None:
            counts = self._misses[table] = Counter()
            if len(self._misses) > TABLES_MAX:
                self._misses.popitem(last=False)
        counts[reason] += 1
        self._misses.move_to_end(table)

    def most(self, number: int) -> list[MissedTable]:
        """The tables with the most misses."""
        tables = [
            MissedTable(str(table), counts.total(), {str(why): n for why, n in counts.items()})
            for table, counts in self._misses.items()
        ]
        return sorted(tables, key=lambda each: (-each.misses, each.table))[:number]
