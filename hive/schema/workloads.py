"""Resource plans of workload management, which the metastore needs but Metatide doesn't read."""

from sqlalchemy import (
    BigInteger,
    Column,
    Double,
    ForeignKey,
    Integer,
    MetaData,
    SmallInteger,
    String,
    UniqueConstraint,
    text,
)
from sqlalchemy.dialects import mysql

from hive.schema.columns import MYSQL, key, member, table
from hive.schema.version import Version

_PATH = String(1024).with_variant(mysql.VARCHAR(767), *MYSQL)
_SMALL_FLAG = SmallInteger().with_variant(mysql.BIT(1), *MYSQL)


def describe(metadata: MetaData, version: Version) -> None:
    plan_name = ("NAME",) if version < Version.V4_0 else ("NS", "NAME")
    plans = table(
        metadata,
        "WM_RESOURCEPLAN",
        key("RP_ID"),
        Column("NAME", String(128), nullable=False),
        Column("QUERY_PARALLELISM", Integer),
        Column("STATUS", String(20), nullable=False),
        Column(
            "DEFAULT_POOL_ID",
            BigInteger,
            # Plans and pools refer to each other.
            ForeignKey("WM_POOL.POOL_ID", name="WM_RESOURCEPLAN_FK1", use_alter=True),
        ),
    )
    if version >= Version.V4_0:
        plans.append_column(Column("NS", String(128)))
    plans.append_constraint(UniqueConstraint(*plan_name, name="UNIQUE_WM_RESOURCEPLAN"))
    table(
        metadata,
        "WM_POOL",
        key("POOL_ID"),
        _plan(),
        Column("PATH", _PATH, nullable=False),
        Column("ALLOC_FRACTION", Double),
        Column("QUERY_PARALLELISM", Integer),
        Column("SCHEDULING_POLICY", _PATH),
        UniqueConstraint("RP_ID", "PATH", name="UNIQUE_WM_POOL"),
    )
    table(
        metadata,
        "WM_TRIGGER",
        key("TRIGGER_ID"),
        _plan(),
        Column("NAME", String(128), nullable=False),
        Column("TRIGGER_EXPRESSION", String(1024)),
        Column("ACTION_EXPRESSION", String(1024)),
        Column("IS_IN_UNMANAGED", _SMALL_FLAG, server_default=text("0"), nullable=False),
        UniqueConstraint("RP_ID", "NAME", name="UNIQUE_WM_TRIGGER"),
    )
    table(
        metadata,
        "WM_POOL_TO_TRIGGER",
        member("POOL_ID", "WM_POOL.POOL_ID"),
        member("TRIGGER_ID", "WM_TRIGGER.TRIGGER_ID"),
    )
    table(
        metadata,
        "WM_MAPPING",
        key("MAPPING_ID"),
        _plan(),
        Column("ENTITY_TYPE", String(128), nullable=False),
        Column("ENTITY_NAME", String(128), nullable=False),
        Column("POOL_ID", BigInteger, ForeignKey("WM_POOL.POOL_ID")),
        Column("ORDERING", Integer),
        UniqueConstraint("RP_ID", "ENTITY_TYPE", "ENTITY_NAME", name="UNIQUE_WM_MAPPING"),
    )


def _plan() -> Column[int]:
    return Column("RP_ID", BigInteger, ForeignKey("WM_RESOURCEPLAN.RP_ID"), nullable=False)
