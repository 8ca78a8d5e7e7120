"""Locks of tables and partitions, of the metastore's background tasks, and of materialized
views."""

from sqlalchemy import CHAR, BigInteger, Column, Index, Integer, MetaData, String

from hive.schema.columns import key, table


def describe(metadata: MetaData) -> None:
    table(
        metadata,
        "HIVE_LOCKS",
        key("HL_LOCK_EXT_ID"),
        key("HL_LOCK_INT_ID"),
        Column("HL_TXNID", BigInteger, nullable=False),
        Column("HL_DB", String(128), nullable=False),
        Column("HL_TABLE", String(256)),
        Column("HL_PARTITION", String(767)),
        Column("HL_LOCK_STATE", CHAR(1), nullable=False),
        Column("HL_LOCK_TYPE", CHAR(1), nullable=False),
        Column("HL_LAST_HEARTBEAT", BigInteger, nullable=False),
        Column("HL_ACQUIRED_AT", BigInteger),
        Column("HL_USER", String(128), nullable=False),
        Column("HL_HOST", String(128), nullable=False),
        Column("HL_HEARTBEAT_COUNT", Integer),
        Column("HL_AGENT_INFO", String(128)),
        Column("HL_BLOCKEDBY_EXT_ID", BigInteger),
        Column("HL_BLOCKEDBY_INT_ID", BigInteger),
        Index("HL_TXNID_INDEX", "HL_TXNID"),
    )
    table(metadata, "NEXT_LOCK_ID", Column("NL_NEXT", BigInteger, nullable=False))
    table(
        metadata,
        "AUX_TABLE",
        key("MT_KEY1", String(128)),
        key("MT_KEY2"),
        Column("MT_COMMENT", String(255)),
    )
    table(
        metadata,
        "MATERIALIZATION_REBUILD_LOCKS",
        key("MRL_TXN_ID"),
        Column("MRL_DB_NAME", String(128), nullable=False),
        Column("MRL_TBL_NAME", String(256), nullable=False),
        Column("MRL_LAST_HEARTBEAT", BigInteger, nullable=False),
    )
