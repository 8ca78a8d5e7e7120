"""Transactions, what they wrote, and the write ids of tables.

These tables don't know catalogs, and all names in them are lower case.
"""

from sqlalchemy import (
    CHAR,
    TIMESTAMP,
    BigInteger,
    Column,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    func,
)

from hive.schema.columns import key, table
from hive.schema.version import Version


def describe(metadata: MetaData, version: Version) -> None:
    _describe_transactions(metadata, version)
    _describe_components(metadata)
    _describe_write_ids(metadata)
    _describe_horizons(metadata, version)


def _describe_transactions(metadata: MetaData, version: Version) -> None:
    counted_by_database = version >= Version.V4_0
    table(
        metadata,
        "TXNS",
        Column("TXN_ID", BigInteger, primary_key=True, autoincrement=counted_by_database),
        Column("TXN_STATE", CHAR(1), nullable=False),
        Column("TXN_STARTED", BigInteger, nullable=False),
        Column("TXN_LAST_HEARTBEAT", BigInteger, nullable=False),
        Column("TXN_USER", String(128), nullable=False),
        Column("TXN_HOST", String(128), nullable=False),
        Column("TXN_AGENT_INFO", String(128)),
        Column("TXN_META_INFO", String(128)),
        Column("TXN_HEARTBEAT_COUNT", Integer),
        Column("TXN_TYPE", Integer),
    )
    if counted_by_database:
        table(metadata, "TXN_LOCK_TBL", Column("TXN_LOCK", BigInteger, nullable=False))
    else:
        table(metadata, "NEXT_TXN_ID", Column("NTXN_NEXT", BigInteger, nullable=False))
    table(
        metadata,
        "REPL_TXN_MAP",
        key("RTM_REPL_POLICY", String(256)),
        key("RTM_SRC_TXN_ID"),
        Column("RTM_TARGET_TXN_ID", BigInteger, nullable=False),
    )


def _describe_components(metadata: MetaData) -> None:
    table(
        metadata,
        "TXN_COMPONENTS",
        Column("TC_TXNID", BigInteger, ForeignKey("TXNS.TXN_ID"), nullable=False),
        Column("TC_DATABASE", String(128), nullable=False),
        Column("TC_TABLE", String(256)),
        Column("TC_PARTITION", String(767)),
        Column("TC_OPERATION_TYPE", CHAR(1), nullable=False),
        Column("TC_WRITEID", BigInteger),
        Index("TC_TXNID_INDEX", "TC_TXNID"),
    )
    table(
        metadata,
        "COMPLETED_TXN_COMPONENTS",
        Column("CTC_TXNID", BigInteger, nullable=False),
        Column("CTC_DATABASE", String(128), nullable=False),
        Column("CTC_TABLE", String(256)),
        Column("CTC_PARTITION", String(767)),
        Column("CTC_TIMESTAMP", TIMESTAMP, server_default=func.now(), nullable=False),
        Column("CTC_WRITEID", BigInteger),
        Column("CTC_UPDATE_DELETE", CHAR(1), nullable=False),
        Index("COMPLETED_TXN_COMPONENTS_INDEX", "CTC_DATABASE", "CTC_TABLE", "CTC_PARTITION"),
    )
    table(
        metadata,
        "WRITE_SET",
        Column("WS_DATABASE", String(128), nullable=False),
        Column("WS_TABLE", String(256), nullable=False),
        Column("WS_PARTITION", String(767)),
        Column("WS_TXNID", BigInteger, nullable=False),
        Column("WS_COMMIT_ID", BigInteger, nullable=False),
        Column("WS_OPERATION_TYPE", CHAR(1), nullable=False),
    )


def _describe_write_ids(metadata: MetaData) -> None:
    name = ("T2W_DATABASE", "T2W_TABLE")
    table(
        metadata,
        "TXN_TO_WRITE_ID",
        Column("T2W_TXNID", BigInteger, nullable=False),
        Column("T2W_DATABASE", String(128), nullable=False),
        Column("T2W_TABLE", String(256), nullable=False),
        Column("T2W_WRITEID", BigInteger, nullable=False),
        Index("TBL_TO_TXN_ID_IDX", *name, "T2W_TXNID", unique=True),
        Index("TBL_TO_WRITE_ID_IDX", *name, "T2W_WRITEID", unique=True),
    )
    table(
        metadata,
        "NEXT_WRITE_ID",
        Column("NWI_DATABASE", String(128), nullable=False),
        Column("NWI_TABLE", String(256), nullable=False),
        Column("NWI_NEXT", BigInteger, nullable=False),
        Index("NEXT_WRITE_ID_IDX", "NWI_DATABASE", "NWI_TABLE", unique=True),
    )


def _describe_horizons(metadata: MetaData, version: Version) -> None:
    table(
        metadata,
        "MIN_HISTORY_LEVEL",
        key("MHL_TXNID"),
        Column("MHL_MIN_OPEN_TXNID", BigInteger, nullable=False),
        Index("MIN_HISTORY_LEVEL_IDX", "MHL_MIN_OPEN_TXNID"),
    )
    if version >= Version.V4_0:
        table(
            metadata,
            "MIN_HISTORY_WRITE_ID",
            Column("MH_TXNID", BigInteger, ForeignKey("TXNS.TXN_ID"), nullable=False),
            Column("MH_DATABASE", String(128), nullable=False),
            Column("MH_TABLE", String(256), nullable=False),
            Column("MH_WRITEID", BigInteger, nullable=False),
        )
