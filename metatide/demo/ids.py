"""Ids of metadata rows, taken in blocks from SEQUENCE_TABLE as the metastore takes them."""

from collections.abc import Callable
from threading import Lock

BLOCK = 1000
"""How many ids one visit to the database brings."""

SEQUENCES = {
    "CDS": "MColumnDescriptor",
    "DBS": "MDatabase",
    "FUNCS": "MFunction",
    "NOTIFICATION_LOG": "MNotificationLog",
    "PARTITIONS": "MPartition",
    "PART_COL_STATS": "MPartitionColumnStatistics",
    "SDS": "MStorageDescriptor",
    "SERDES": "MSerDeInfo",
    "TAB_COL_STATS": "MTableColumnStatistics",
    "TBLS": "MTable",
}
"""Whose ids are counted, and the class that the metastore's persistence layer counts them for."""


def sequence_name(table: str) -> str:
    """The row of SEQUENCE_TABLE that counts the ids of a table."""
    return f"org.apache.hadoop.hive.metastore.model.{SEQUENCES[table]}"


class Ids:
    """Issues ids; `reserve(table, count)` gives the first of that many new ones."""

    def __init__(self, reserve: Callable[[str, int], int]) -> None:
        self._reserve = reserve
        self._lock = Lock()
        self._blocks: dict[str, tuple[int, int]] = {}

    def take(self, table: str) -> int:
        """The next id."""
        return self.take_many(table, 1)[0]

    def take_many(self, table: str, count: int) -> range:
        """The next ids, consecutive."""
        with self._lock:
            first, end = self._blocks.get(table, (0, 0))
            if end - first < count:
                size = max(count, BLOCK)
                first = self._reserve(table, size)
                end = first + size
            self._blocks[table] = (first + count, end)
        return range(first, first + count)
