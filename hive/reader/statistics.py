"""Reads column statistics of tables and of partitions.

Up to 4.0 a metastore looks for statistics by the names that their rows repeat. A writer that ends
after a rename leaves the old names there: such a row is nobody's, though it has an owner's id.
"""

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
    statement = (
        select(owner, *(columns.get(name, null()) for name in _COLUMNS))
        .where(has_id(owner, "owners"))
        .order_by(owner)
    )
    return statement if version >= Version.V4_1 else _by_names(statement, version, kind)


def _by_names(statement: Select[Any], version: Version, kind: str) -> Select[Any]:
    """Only the rows whose names are those of their owner."""
    schema = metadata(version).tables
    statistics, partition, table, database = (
        schema[name].c for name in (kind, "PARTITIONS", "TBLS", "DBS")
    )
    owner = statistics
    if kind == OF_PARTITIONS:
        owner = partition
        statement = statement.join(
            schema["PARTITIONS"], partition.PART_ID == statistics.PART_ID
        ).where(partition.PART_NAME == statistics.PARTITION_NAME)
    return (
        statement.join(schema["TBLS"], table.TBL_ID == owner.TBL_ID)
        .join(schema["DBS"], database.DB_ID == table.DB_ID)
        .where(
            table.TBL_NAME == statistics.TABLE_NAME,
            database.NAME == statistics.DB_NAME,
            database.CTLG_NAME == statistics.CAT_NAME,
        )
    )
