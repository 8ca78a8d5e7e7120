"""Partitions, their values and parameters."""

from sqlalchemy import (
    BigInteger,
    Column,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    UniqueConstraint,
    text,
)

from hive.schema.columns import NUMBER, exact, key, member, parameters, table
from hive.schema.version import Version


def describe(metadata: MetaData, version: Version) -> None:
    partitions = table(
        metadata,
        "PARTITIONS",
        key("PART_ID"),
        Column("CREATE_TIME", NUMBER, nullable=False),
        Column("LAST_ACCESS_TIME", NUMBER, nullable=False),
        Column("PART_NAME", exact(767)),
        Column("SD_ID", BigInteger, ForeignKey("SDS.SD_ID")),
        Column("TBL_ID", BigInteger, ForeignKey("TBLS.TBL_ID")),
        UniqueConstraint("TBL_ID", "PART_NAME", name="UNIQUEPARTITION"),
        Index("PARTITIONS_N50", "SD_ID"),
    )
    if version >= Version.V4_0:
        partitions.append_column(Column("WRITE_ID", BigInteger, server_default=text("0")))
    parameters(metadata, "PARTITION_PARAMS", "PARTITIONS.PART_ID")
    table(
        metadata,
        "PARTITION_KEY_VALS",
        member("PART_ID", "PARTITIONS.PART_ID"),
        key("INTEGER_IDX", NUMBER),
        Column("PART_KEY_VAL", exact(256)),
        Index("PARTITION_KEY_VALS_N49", "PART_ID"),
    )
    table(
        metadata,
        "PARTITION_EVENTS",
        key("PART_NAME_ID"),
        Column("CAT_NAME", exact(256)),
        Column("DB_NAME", exact(128)),
        Column("EVENT_TIME", BigInteger, nullable=False),
        Column("EVENT_TYPE", Integer, nullable=False),
        Column("PARTITION_NAME", exact(767)),
        Column("TBL_NAME", exact(256)),
        Index("PARTITIONEVENTINDEX", "PARTITION_NAME"),
    )
