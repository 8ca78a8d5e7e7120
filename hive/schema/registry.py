"""Named types and the schema registry, which the metastore needs but Metatide doesn't read."""

from sqlalchemy import (
    BigInteger,
    Column,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    UniqueConstraint,
)

from hive.schema.columns import MEDIUM_TEXT, NUMBER, Flag, exact, key, table


def describe(metadata: MetaData) -> None:
    table(
        metadata,
        "TYPES",
        key("TYPES_ID"),
        Column("TYPE_NAME", exact(128)),
        Column("TYPE1", exact(767)),
        Column("TYPE2", exact(767)),
        UniqueConstraint("TYPE_NAME", name="UNIQUE_TYPE"),
    )
    table(
        metadata,
        "TYPE_FIELDS",
        Column("TYPE_NAME", BigInteger, ForeignKey("TYPES.TYPES_ID"), primary_key=True),
        key("FIELD_NAME", exact(128)),
        Column("COMMENT", exact(256)),
        Column("FIELD_TYPE", exact(767), nullable=False),
        Column("INTEGER_IDX", NUMBER, nullable=False),
        Index("TYPE_FIELDS_N49", "TYPE_NAME"),
    )
    table(
        metadata,
        "I_SCHEMA",
        key("SCHEMA_ID"),
        Column("SCHEMA_TYPE", Integer, nullable=False),
        Column("NAME", String(256), unique=True),
        Column("DB_ID", BigInteger, ForeignKey("DBS.DB_ID")),
        Column("COMPATIBILITY", Integer, nullable=False),
        Column("VALIDATION_LEVEL", Integer, nullable=False),
        Column("CAN_EVOLVE", Flag, nullable=False),
        Column("SCHEMA_GROUP", String(256)),
        Column("DESCRIPTION", String(4000)),
    )
    table(
        metadata,
        "SCHEMA_VERSION",
        key("SCHEMA_VERSION_ID"),
        Column("SCHEMA_ID", BigInteger, ForeignKey("I_SCHEMA.SCHEMA_ID")),
        Column("VERSION", Integer, nullable=False),
        Column("CREATED_AT", BigInteger, nullable=False),
        Column("CD_ID", BigInteger, ForeignKey("CDS.CD_ID")),
        Column("STATE", Integer, nullable=False),
        Column("DESCRIPTION", String(4000)),
        Column("SCHEMA_TEXT", MEDIUM_TEXT),
        Column("FINGERPRINT", String(256)),
        Column("SCHEMA_VERSION_NAME", String(256)),
        Column("SERDE_ID", BigInteger, ForeignKey("SERDES.SERDE_ID")),
        UniqueConstraint("SCHEMA_ID", "VERSION"),
    )
