"""Catalogs, databases, and the connectors of remote databases."""

from sqlalchemy import (
    Column,
    ForeignKey,
    Integer,
    MetaData,
    String,
    UniqueConstraint,
)

from hive.schema.columns import NUMBER, exact, key, parameters, table
from hive.schema.version import Version


def describe(metadata: MetaData, version: Version) -> None:
    catalogs = table(
        metadata,
        "CTLGS",
        key("CTLG_ID"),
        Column("NAME", String(256), unique=True),
        Column("DESC", String(4000)),
        Column("LOCATION_URI", String(4000), nullable=False),
    )
    databases = table(
        metadata,
        "DBS",
        key("DB_ID"),
        Column("DESC", exact(4000)),
        Column("DB_LOCATION_URI", exact(4000), nullable=False),
        Column("NAME", exact(128)),
        Column("OWNER_NAME", exact(128)),
        Column("OWNER_TYPE", exact(10)),
        Column(
            "CTLG_NAME",
            String(256),
            ForeignKey("CTLGS.NAME"),
            server_default="hive",
            nullable=version is Version.V3_1,
        ),
        UniqueConstraint("NAME", "CTLG_NAME", name="UNIQUE_DATABASE"),
    )
    parameters(metadata, "DATABASE_PARAMS", "DBS.DB_ID", key_length=180, value=exact(4000))
    if version >= Version.V4_0:
        catalogs.append_column(Column("CREATE_TIME", NUMBER))
        for column in (
            Column("CREATE_TIME", NUMBER),
            Column("DB_MANAGED_LOCATION_URI", exact(4000)),
            Column("TYPE", String(32), server_default="NATIVE", nullable=False),
            Column("DATACONNECTOR_NAME", String(128)),
            Column("REMOTE_DBNAME", String(128)),
        ):
            databases.append_column(column)
        _describe_connectors(metadata)
    if version >= Version.V4_1:
        # 4.2 requires it and 4.1 doesn't have it: it is created here, but never read.
        parameters(metadata, "CATALOG_PARAMS", "CTLGS.CTLG_ID", key_length=180, value=exact(4000))


def _describe_connectors(metadata: MetaData) -> None:
    table(
        metadata,
        "DATACONNECTORS",
        key("NAME", String(128)),
        Column("TYPE", String(32), nullable=False),
        Column("URL", String(4000), nullable=False),
        Column("COMMENT", String(256)),
        Column("OWNER_NAME", String(256)),
        Column("OWNER_TYPE", String(10)),
        Column("CREATE_TIME", Integer, nullable=False),
    )
    table(
        metadata,
        "DATACONNECTOR_PARAMS",
        Column(
            "NAME",
            String(128),
            ForeignKey("DATACONNECTORS.NAME", ondelete="CASCADE"),
            primary_key=True,
        ),
        key("PARAM_KEY", String(180)),
        Column("PARAM_VALUE", String(4000)),
    )
