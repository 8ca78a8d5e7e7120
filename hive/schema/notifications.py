"""The notification log, its sequence, and the log of transactions' writes."""

from sqlalchemy import BigInteger, CheckConstraint, Column, Index, Integer, MetaData, String

from hive.schema.columns import LONG_TEXT, key, table
from hive.schema.version import Version


def describe(metadata: MetaData, version: Version) -> None:
    log = table(
        metadata,
        "NOTIFICATION_LOG",
        key("NL_ID"),
        Column("EVENT_ID", BigInteger, nullable=False),
        Column("EVENT_TIME", Integer, nullable=False),
        Column("EVENT_TYPE", String(32), nullable=False),
        Column("CAT_NAME", String(256)),
        Column("DB_NAME", String(128)),
        Column("TBL_NAME", String(256)),
        Column("MESSAGE", LONG_TEXT),
        Column("MESSAGE_FORMAT", String(16)),
    )
    sequence = table(
        metadata,
        "NOTIFICATION_SEQUENCE",
        key("NNI_ID"),
        Column("NEXT_EVENT_ID", BigInteger, nullable=False),
    )
    if version >= Version.V4_0:
        Index("NOTIFICATION_LOG_EVENT_ID", log.c.EVENT_ID, unique=True)
        sequence.append_constraint(
            CheckConstraint(sequence.c.NNI_ID == 1, name="ONE_ROW_CONSTRAINT")
        )
        table(
            metadata,
            "TXN_WRITE_NOTIFICATION_LOG",
            Column("WNL_ID", BigInteger, nullable=False),
            key("WNL_TXNID"),
            Column("WNL_WRITEID", BigInteger, nullable=False),
            key("WNL_DATABASE", String(128)),
            key("WNL_TABLE", String(256)),
            key("WNL_PARTITION", String(767)),
            Column("WNL_TABLE_OBJ", LONG_TEXT, nullable=False),
            Column("WNL_PARTITION_OBJ", LONG_TEXT),
            Column("WNL_FILES", LONG_TEXT),
            Column("WNL_EVENT_TIME", Integer, nullable=False),
        )
