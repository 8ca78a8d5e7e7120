"""Functions and their resources, stored procedures and packages."""

from sqlalchemy import BigInteger, Column, ForeignKey, Index, Integer, MetaData, String

from hive.schema.columns import LONG_TEXT, exact, key, member, table
from hive.schema.version import Version


def describe(metadata: MetaData, version: Version) -> None:
    table(
        metadata,
        "FUNCS",
        key("FUNC_ID"),
        Column("CLASS_NAME", exact(4000)),
        Column("CREATE_TIME", Integer, nullable=False),
        Column("DB_ID", BigInteger, ForeignKey("DBS.DB_ID")),
        Column("FUNC_NAME", exact(128)),
        Column("FUNC_TYPE", Integer, nullable=False),
        Column("OWNER_NAME", exact(128)),
        Column("OWNER_TYPE", exact(10)),
        Index("UNIQUEFUNCTION", "FUNC_NAME", "DB_ID", unique=True),
        Index("FUNCS_N49", "DB_ID"),
    )
    table(
        metadata,
        "FUNC_RU",
        member("FUNC_ID", "FUNCS.FUNC_ID"),
        key("INTEGER_IDX", Integer()),
        Column("RESOURCE_TYPE", Integer, nullable=False),
        Column("RESOURCE_URI", exact(4000)),
        Index("FUNC_RU_N49", "FUNC_ID"),
    )
    if version >= Version.V4_0:
        _describe_code(metadata, "STORED_PROCS", "SP_ID", "SOURCE")
        _describe_code(metadata, "PACKAGES", "PKG_ID", "HEADER", "BODY")


def _describe_code(metadata: MetaData, name: str, id_: str, *texts: str) -> None:
    table(
        metadata,
        name,
        key(id_),
        Column("CREATE_TIME", Integer, nullable=False),
        Column("DB_ID", BigInteger, ForeignKey("DBS.DB_ID"), nullable=False),
        Column("NAME", String(256), nullable=False),
        Column("OWNER_NAME", String(128), nullable=False),
        *(Column(text, LONG_TEXT, nullable=False) for text in texts),
        Index(f"UNIQUE_{name}", "NAME", "DB_ID", unique=True),
    )
