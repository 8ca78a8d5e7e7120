"""Tables, their partition keys, and the sources of materialized views."""

from sqlalchemy import (
    BigInteger,
    Column,
    ForeignKey,
    Index,
    MetaData,
    Text,
    UniqueConstraint,
    false,
    text,
)

from hive.schema.columns import MEDIUM_TEXT, NUMBER, Flag, exact, key, member, parameters, table
from hive.schema.version import Version


def describe(metadata: MetaData, version: Version) -> None:
    tables = table(
        metadata,
        "TBLS",
        key("TBL_ID"),
        Column("CREATE_TIME", NUMBER, nullable=False),
        Column("DB_ID", BigInteger, ForeignKey("DBS.DB_ID")),
        Column("LAST_ACCESS_TIME", NUMBER, nullable=False),
        Column("OWNER", exact(767)),
        Column("OWNER_TYPE", exact(10)),
        Column("RETENTION", NUMBER, nullable=False),
        Column("SD_ID", BigInteger, ForeignKey("SDS.SD_ID")),
        Column("TBL_NAME", exact(256)),
        Column("TBL_TYPE", exact(128)),
        Column("VIEW_EXPANDED_TEXT", MEDIUM_TEXT),
        Column("VIEW_ORIGINAL_TEXT", MEDIUM_TEXT),
        Column("IS_REWRITE_ENABLED", Flag, server_default=false(), nullable=False),
        UniqueConstraint("TBL_NAME", "DB_ID", name="UNIQUETABLE"),
        Index("TBLS_N49", "DB_ID"),
        Index("TBLS_N50", "SD_ID"),
    )
    if version >= Version.V4_0:
        tables.append_column(Column("WRITE_ID", BigInteger, server_default=text("0")))
    parameters(metadata, "TABLE_PARAMS", "TBLS.TBL_ID")
    table(
        metadata,
        "PARTITION_KEYS",
        member("TBL_ID", "TBLS.TBL_ID"),
        key("PKEY_NAME", exact(128)),
        Column("PKEY_COMMENT", exact(4000)),
        Column("PKEY_TYPE", exact(767), nullable=False),
        Column("INTEGER_IDX", NUMBER, nullable=False),
        Index("PARTITION_KEYS_N49", "TBL_ID"),
    )
    _describe_views(metadata, version)


def _describe_views(metadata: MetaData, version: Version) -> None:
    table(
        metadata,
        "MV_CREATION_METADATA",
        key("MV_CREATION_METADATA_ID"),
        Column("CAT_NAME", exact(256), nullable=False),
        Column("DB_NAME", exact(128), nullable=False),
        Column("TBL_NAME", exact(256), nullable=False),
        Column("TXN_LIST", Text),
        Column("MATERIALIZATION_TIME", BigInteger, nullable=False),
        Index("MV_UNIQUE_TABLE", "TBL_NAME", "DB_NAME"),
    )
    sources = table(
        metadata,
        "MV_TABLES_USED",
        member("TBL_ID", "TBLS.TBL_ID"),
        member("MV_CREATION_METADATA_ID", "MV_CREATION_METADATA.MV_CREATION_METADATA_ID"),
    )
    if version >= Version.V4_0:
        for name in ("INSERTED_COUNT", "UPDATED_COUNT", "DELETED_COUNT"):
            sources.append_column(
                Column(name, BigInteger, server_default=text("0"), nullable=False)
            )
