"""Reads column statistics of tables and of partitions."""

from collections.abc import Collection, Iterator
from functools import cache
from typing import Any

from sqlalchemy import Select, null, select

from hive.column_statistics import Figures
from hive.reader.details import has_id
from hive.reader.rows.statistics import StoredStatistics, stored_statistics
from hive.reader.snapshot import DatabaseSnapshot
from hive.reader.tables import Condition
from hive.schema import Version, metadata

OF_TABLES, OF_PARTITIONS = "TAB_COL_STATS", "PART_COL_STATS"
"""The tables that hold the statistics, for conditions on engines and columns."""

_OWNERS = {OF_TABLES: "TBL_ID", OF_PARTITIONS: "PART_ID"}
_FIGURES = (
    *("LONG_LOW_VALUE", "LONG_HIGH_VALUE"),
    *("DOUBLE_LOW_VALUE", "DOUBLE_HIGH_VALUE", "BIG_DECIMAL_LOW_VALUE", "BIG_DECIMAL_HIGH_VALUE"),
    *("NUM_NULLS", "NUM_DISTINCTS", "BIT_VECTOR", "HISTOGRAM", "AVG_COL_LEN", "MAX_COL_LEN"),
    *("NUM_TRUES", "NUM_FALSES"),
)
assert len(_FIGURES) == len(Figures._fields)
_COLUMNS = ("COLUMN_NAME", "COLUMN_TYPE", *_FIGURES, "LAST_ANALYZED", "ENGINE")


def stream_statistics(
    snapshot: DatabaseSnapshot, kind: str, owners: Collection[int], *where: Condition
) -> Iterator[list[StoredStatistics]]:
    """The statistics of tables or of partitions with these ids, in the order of the ids."""
    if not owners:
        return
    statement = _statement(snapshot.version, kind).where(*where)
    for rows in snapshot.stream(statement, {"owners": list(owners)}):
        yield [stored_statistics(row) for row in rows]


@cache
def _statement(version: Version, kind: str) -> Select[Any]:
    columns = metadata(version).tables[kind].c
    owner = columns[_OWNERS[kind]]
    return (
        select(owner, *(columns.get(name, null()) for name in _COLUMNS))
        .where(has_id(owner, "owners"))
        .order_by(owner)
    )
