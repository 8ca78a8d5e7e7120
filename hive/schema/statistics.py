"""Column statistics of tables and of partitions.

Up to 4.0 a row repeats the names of its object and is found by them; from 4.1 on it has only ids.
"""

from typing import Any

from sqlalchemy import BigInteger, Column, ForeignKey, Index, LargeBinary, MetaData

from hive.schema.columns import DOUBLE, exact, key, table
from hive.schema.version import Version


def describe(metadata: MetaData, version: Version) -> None:
    of_tables = table(
        metadata,
        "TAB_COL_STATS",
        key("CS_ID"),
        Column("TBL_ID", BigInteger, ForeignKey("TBLS.TBL_ID"), nullable=False),
        *_figures(version),
        Index("TAB_COL_STATS_N49", "TBL_ID"),
    )
    of_partitions = table(
        metadata,
        "PART_COL_STATS",
        key("CS_ID"),
        Column("PART_ID", BigInteger, ForeignKey("PARTITIONS.PART_ID"), nullable=False),
        *_figures(version),
        Index("PART_COL_STATS_N49", "PART_ID"),
    )
    if version < Version.V4_1:
        for described in (of_tables, of_partitions):
            described.append_column(Column("CAT_NAME", exact(256)))
            described.append_column(Column("DB_NAME", exact(128)))
            described.append_column(Column("TABLE_NAME", exact(256)))
        of_partitions.append_column(Column("PARTITION_NAME", exact(767)))
        names = ["DB_NAME", "TABLE_NAME", "COLUMN_NAME"]
        Index("TAB_COL_STATS_IDX", *(of_tables.c[name] for name in [*names, "CAT_NAME"]))
        names.append("PARTITION_NAME")
        Index("PCS_STATS_IDX", *(of_partitions.c[name] for name in [*names, "CAT_NAME"]))


def _figures(version: Version) -> list[Column[Any]]:
    columns: list[Column[Any]] = [
        Column("COLUMN_NAME", exact(767)),
        Column("COLUMN_TYPE", exact(128)),
        Column("LONG_LOW_VALUE", BigInteger),
        Column("LONG_HIGH_VALUE", BigInteger),
        Column("DOUBLE_LOW_VALUE", DOUBLE),
        Column("DOUBLE_HIGH_VALUE", DOUBLE),
        Column("BIG_DECIMAL_LOW_VALUE", exact(4000)),
        Column("BIG_DECIMAL_HIGH_VALUE", exact(4000)),
        Column("NUM_NULLS", BigInteger, nullable=False),
        Column("NUM_DISTINCTS", BigInteger),
        Column("BIT_VECTOR", LargeBinary),
        Column("AVG_COL_LEN", DOUBLE),
        Column("MAX_COL_LEN", BigInteger),
        Column("NUM_TRUES", BigInteger),
        Column("NUM_FALSES", BigInteger),
        Column("LAST_ANALYZED", BigInteger, nullable=False),
    ]
    if version >= Version.V4_0:
        columns += [
            Column("ENGINE", exact(128), nullable=False),
            Column("HISTOGRAM", LargeBinary),
        ]
    return columns
