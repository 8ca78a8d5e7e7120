"""The metastore's own records: version, id sequences, properties, security keys."""

from sqlalchemy import BigInteger, Column, Integer, LargeBinary, MetaData, String, Table

from hive.schema.columns import exact, key, table
from hive.schema.version import Version


def describe_version(metadata: MetaData) -> Table:
    return table(
        metadata,
        "VERSION",
        key("VER_ID"),
        Column("SCHEMA_VERSION", String(127), nullable=False),
        Column("VERSION_COMMENT", String(255), nullable=False),
    )


def describe(metadata: MetaData, version: Version) -> None:
    describe_version(metadata)
    table(
        metadata,
        "SEQUENCE_TABLE",
        key("SEQUENCE_NAME", exact(255)),
        Column("NEXT_VAL", BigInteger, nullable=False),
    )
    table(
        metadata,
        "NUCLEUS_TABLES",
        key("CLASS_NAME", exact(128)),
        Column("TABLE_NAME", exact(128), nullable=False),
        Column("TYPE", exact(4), nullable=False),
        Column("OWNER", exact(2), nullable=False),
        Column("VERSION", exact(20), nullable=False),
        Column("INTERFACE_NAME", exact(255)),
    )
    properties = table(
        metadata,
        "METASTORE_DB_PROPERTIES",
        key("PROPERTY_KEY", String(255)),
        Column("PROPERTY_VALUE", String(1000), nullable=False),
        Column("DESCRIPTION", String(1000)),
    )
    if version >= Version.V4_0:
        properties.append_column(Column("PROPERTYCONTENT", LargeBinary))
    table(
        metadata,
        "MASTER_KEYS",
        Column("KEY_ID", Integer, primary_key=True, autoincrement=True),
        Column("MASTER_KEY", exact(767)),
    )
    table(
        metadata,
        "DELEGATION_TOKENS",
        key("TOKEN_IDENT", exact(767)),
        Column("TOKEN", exact(767)),
    )
