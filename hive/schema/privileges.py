"""Roles, and the grants on each kind of object."""

from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    ForeignKey,
    Index,
    MetaData,
    SmallInteger,
    String,
    UniqueConstraint,
)
from sqlalchemy.schema import SchemaItem

from hive.schema.columns import NUMBER, exact, key, table
from hive.schema.version import Version

_GRANTEE = ["PRINCIPAL_NAME", "PRINCIPAL_TYPE"]
_GRANTOR = ["GRANTOR", "GRANTOR_TYPE"]


def describe(metadata: MetaData, version: Version) -> None:
    table(
        metadata,
        "ROLES",
        key("ROLE_ID"),
        Column("CREATE_TIME", NUMBER, nullable=False),
        Column("OWNER_NAME", exact(128)),
        Column("ROLE_NAME", exact(128)),
        UniqueConstraint("ROLE_NAME", name="ROLEENTITYINDEX"),
    )
    table(
        metadata,
        "ROLE_MAP",
        key("ROLE_GRANT_ID"),
        Column("ADD_TIME", NUMBER, nullable=False),
        *_grant(),
        Column("ROLE_ID", BigInteger, ForeignKey("ROLES.ROLE_ID")),
        UniqueConstraint("PRINCIPAL_NAME", "ROLE_ID", *_GRANTOR, name="USERROLEMAPINDEX"),
        Index("ROLE_MAP_N49", "ROLE_ID"),
    )
    _privileges(metadata, "GLOBAL_PRIVS", "USER", "GLOBALPRIVILEGEINDEX")
    _privileges(metadata, "DB_PRIVS", "DB", "DBPRIVILEGEINDEX", "DBS.DB_ID")
    _privileges(metadata, "TBL_PRIVS", "TBL", "TABLEPRIVILEGEINDEX", "TBLS.TBL_ID")
    _privileges(metadata, "PART_PRIVS", "PART", "PARTPRIVILEGEINDEX", "PARTITIONS.PART_ID")
    _privileges(metadata, "TBL_COL_PRIVS", "TBL_COL", "TABLECOLUMNPRIVILEGEINDEX", "TBLS.TBL_ID")
    _privileges(
        metadata,
        "PART_COL_PRIVS",
        "PART_COL",
        "PARTITIONCOLUMNPRIVILEGEINDEX",
        "PARTITIONS.PART_ID",
    )
    if version >= Version.V4_0:
        _privileges(metadata, "DC_PRIVS", "DC", "DCPRIVILEGEINDEX", "DATACONNECTORS.NAME")


def _privileges(
    metadata: MetaData, name: str, kind: str, index: str, reference: str | None = None
) -> None:
    owner: list[SchemaItem] = []
    owner_name = []
    if reference:
        column = reference.partition(".")[2]
        type_ = String(128) if column == "NAME" else BigInteger()
        owner = [Column(column, type_, ForeignKey(reference)), Index(f"{name}_N49", column)]
        owner_name = [column]
    is_column = kind.endswith("_COL")
    if is_column:
        owner.append(Column("COLUMN_NAME", exact(767)))
        owner_name.append("COLUMN_NAME")
    unique = ["AUTHORIZER", *owner_name, *_GRANTEE, f"{kind}_PRIV", *_GRANTOR]
    # The scripts make grants unique only in the small tables; elsewhere the metastore sees to that.
    is_unique = kind in ("USER", "DB", "DC")
    table(
        metadata,
        name,
        key(f"{kind}UMN_GRANT_ID" if is_column else f"{kind}_GRANT_ID"),
        Column("CREATE_TIME", NUMBER, nullable=False),
        *_grant(),
        *owner,
        Column(f"{kind}_PRIV", exact(128)),
        Column("AUTHORIZER", exact(128)),
        UniqueConstraint(*unique, name=index) if is_unique else Index(index, *unique),
    )


def _grant() -> list[Column[Any]]:
    return [
        Column("GRANT_OPTION", SmallInteger, nullable=False),
        *(Column(name, exact(128)) for name in [*_GRANTOR, *_GRANTEE]),
    ]
