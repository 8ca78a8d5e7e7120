"""Primary and foreign keys, unique, not-null, default and check constraints: one row a column."""

from sqlalchemy import BigInteger, Column, Index, MetaData, SmallInteger, String

from hive.schema.columns import NUMBER, key, table
from hive.schema.version import Version


def describe(metadata: MetaData, version: Version) -> None:
    constraints = table(
        metadata,
        "KEY_CONSTRAINTS",
        # Up to 3.1 a name is unique in the whole metastore, from 4.0 on in its table.
        Column(
            "PARENT_TBL_ID",
            BigInteger,
            primary_key=version >= Version.V4_0,
            autoincrement=False,
            nullable=False,
        ),
        key("CONSTRAINT_NAME", String(400)),
        key("POSITION"),
        Column("CHILD_CD_ID", BigInteger),
        Column("CHILD_INTEGER_IDX", NUMBER),
        Column("CHILD_TBL_ID", BigInteger),
        Column("PARENT_CD_ID", BigInteger),
        Column("PARENT_INTEGER_IDX", NUMBER, nullable=False),
        Column("CONSTRAINT_TYPE", SmallInteger, nullable=False),
        Column("UPDATE_RULE", SmallInteger),
        Column("DELETE_RULE", SmallInteger),
        Column("ENABLE_VALIDATE_RELY", SmallInteger, nullable=False),
        Column("DEFAULT_VALUE", String(400)),
        Index("CONSTRAINTS_PARENT_TBLID_INDEX", "PARENT_TBL_ID"),
    )
    if version >= Version.V4_0:
        Index("CONSTRAINTS_CONSTRAINT_TYPE_INDEX", constraints.c.CONSTRAINT_TYPE)
