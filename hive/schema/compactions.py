"""Compactions that wait or run, finished ones, and their metrics."""

from typing import Any

from sqlalchemy import CHAR, BigInteger, Column, Index, Integer, LargeBinary, MetaData, String, text
from sqlalchemy.dialects import mysql

from hive.schema.columns import MEDIUM_TEXT, MYSQL, key, table
from hive.schema.version import Version

_META_INFO = LargeBinary().with_variant(mysql.VARBINARY(2048), *MYSQL)


def describe(metadata: MetaData, version: Version) -> None:
    queue = table(metadata, "COMPACTION_QUEUE", *_compaction("CQ", version))
    table(
        metadata,
        "COMPLETED_COMPACTIONS",
        *_compaction("CC", version),
        Column("CC_END", BigInteger),
        Index("COMPLETED_COMPACTIONS_RES", "CC_DATABASE", "CC_TABLE", "CC_PARTITION"),
    )
    table(
        metadata,
        "NEXT_COMPACTION_QUEUE_ID",
        Column("NCQ_NEXT", BigInteger, nullable=False),
    )
    if version >= Version.V4_0:
        queue.append_column(Column("CQ_CLEANER_START", BigInteger))
        queue.append_column(
            Column("CQ_RETRY_RETENTION", BigInteger, server_default=text("0"), nullable=False)
        )
        table(
            metadata,
            "COMPACTION_METRICS_CACHE",
            Column("CMC_DATABASE", String(128), nullable=False),
            Column("CMC_TABLE", String(256), nullable=False),
            Column("CMC_PARTITION", String(767)),
            Column("CMC_METRIC_TYPE", String(128), nullable=False),
            Column("CMC_METRIC_VALUE", Integer, nullable=False),
            Column("CMC_VERSION", Integer, nullable=False),
        )


def _compaction(prefix: str, version: Version) -> list[Column[Any]]:
    columns: list[Column[Any]] = [
        key(f"{prefix}_ID"),
        Column(f"{prefix}_DATABASE", String(128), nullable=False),
        Column(f"{prefix}_TABLE", String(256), nullable=False),
        Column(f"{prefix}_PARTITION", String(767)),
        Column(f"{prefix}_STATE", CHAR(1), nullable=False),
        Column(f"{prefix}_TYPE", CHAR(1), nullable=False),
        Column(f"{prefix}_TBLPROPERTIES", String(2048)),
        Column(f"{prefix}_WORKER_ID", String(128)),
        Column(f"{prefix}_START", BigInteger),
        Column(f"{prefix}_RUN_AS", String(128)),
        Column(f"{prefix}_HIGHEST_WRITE_ID", BigInteger),
        Column(f"{prefix}_META_INFO", _META_INFO),
        Column(f"{prefix}_HADOOP_JOB_ID", String(32)),
    ]
    if version >= Version.V4_0:
        columns += [
            Column(f"{prefix}_ENQUEUE_TIME", BigInteger),
            Column(f"{prefix}_ERROR_MESSAGE", MEDIUM_TEXT),
            Column(f"{prefix}_NEXT_TXN_ID", BigInteger),
            Column(f"{prefix}_TXN_ID", BigInteger),
            Column(f"{prefix}_COMMIT_TIME", BigInteger),
            Column(f"{prefix}_INITIATOR_ID", String(128)),
            Column(f"{prefix}_INITIATOR_VERSION", String(128)),
            Column(f"{prefix}_WORKER_VERSION", String(128)),
            Column(f"{prefix}_POOL_NAME", String(128)),
            Column(f"{prefix}_NUMBER_OF_BUCKETS", Integer),
            Column(f"{prefix}_ORDER_BY", String(4000)),
        ]
    return columns
