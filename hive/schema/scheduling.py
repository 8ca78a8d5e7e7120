"""Scheduled queries, replication metrics and runtime statistics of queries."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
)

from hive.schema.columns import key, table


def describe_runtime_statistics(metadata: MetaData) -> None:
    table(
        metadata,
        "RUNTIME_STATS",
        key("RS_ID"),
        Column("CREATE_TIME", BigInteger, nullable=False),
        Column("WEIGHT", BigInteger, nullable=False),
        Column("PAYLOAD", LargeBinary),
        Index("IDX_RUNTIME_STATS_CREATE_TIME", "CREATE_TIME"),
    )


def describe(metadata: MetaData) -> None:
    table(
        metadata,
        "SCHEDULED_QUERIES",
        key("SCHEDULED_QUERY_ID"),
        Column("CLUSTER_NAMESPACE", String(256)),
        Column("ENABLED", Boolean, nullable=False),
        Column("NEXT_EXECUTION", Integer),
        Column("QUERY", String(4000)),
        Column("SCHEDULE", String(256)),
        Column("SCHEDULE_NAME", String(256)),
        Column("USER", String(256)),
        Column("ACTIVE_EXECUTION_ID", BigInteger),
    )
    query = "SCHEDULED_QUERIES.SCHEDULED_QUERY_ID"
    table(
        metadata,
        "SCHEDULED_EXECUTIONS",
        key("SCHEDULED_EXECUTION_ID"),
        Column("END_TIME", Integer),
        Column("ERROR_MESSAGE", String(2000)),
        Column("EXECUTOR_QUERY_ID", String(256)),
        Column("LAST_UPDATE_TIME", Integer),
        Column("SCHEDULED_QUERY_ID", BigInteger, ForeignKey(query, ondelete="CASCADE")),
        Column("START_TIME", Integer),
        Column("STATE", String(256)),
        Index("IDX_SCHEDULED_EXECUTIONS_LAST_UPDATE_TIME", "LAST_UPDATE_TIME"),
        Index("IDX_SCHEDULED_EXECUTIONS_SCHEDULED_QUERY_ID", "SCHEDULED_QUERY_ID"),
    )
    table(
        metadata,
        "REPLICATION_METRICS",
        key("RM_SCHEDULED_EXECUTION_ID"),
        Column("RM_POLICY", String(256), nullable=False),
        Column("RM_DUMP_EXECUTION_ID", BigInteger, nullable=False),
        Column("RM_METADATA", String(4000)),
        Column("RM_PROGRESS", String(10000)),
        Column("RM_START_TIME", Integer, nullable=False),
        Column("MESSAGE_FORMAT", String(16), server_default="json-0.2"),
        Index("POLICY_IDX", "RM_POLICY"),
        Index("DUMP_IDX", "RM_DUMP_EXECUTION_ID"),
    )
