"""Ids of metadata rows, taken in blocks from SEQUENCE_TABLE as the metastore takes them."""

from collections.abc import Callable
from threading import Lock

BLOCK = 1000
"""The number of ids that are reserved in the database at a time."""

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
"""The tables whose ids are counted, and the class under which the metastore counts them."""


def sequence_name(table: str) -> str:
    """The row of SEQUENCE_TABLE that counts the ids of a table."""
    return f"org.apache.hadoop.hive.metastore.model.{SEQUENCES[table]}"


class Ids:
    """Issues ids; `reserve(table, count)` reserves that many and returns the first."""

    def __init__(self, reserve: Callable[[str, int], int]) -> None:
        self._reserve = reserve
        self._lock = Lock()
        self._blocks: dict[str, tuple[int, int]] = {}

    def take(self, table: str) -> int:
        """The next id."""
        return self.take_many(table, 1)[0]

    def take_many(self, table: str, count: int) -> range:
        """Consecutive new ids."""
        with self._lock:
            first, end = self._blocks.get(table, (0, 0))
            if end - first < count:
                size = max(count, BLOCK)
                first = self._reserve(table, size)
                end = first + size
            self._blocks[table] = (first + count, end)
        return range(first, first + count)
