"""Privileges and memberships of roles, as the metastore shows them."""

from enum import IntEnum
from typing import Any, NamedTuple

from hive.reader.rows.principals import principal_type
from hive.thrift.binary import encode
from hive.thrift.grants import HIVE_OBJECT_PRIVILEGE, ROLE_PRINCIPAL_GRANT


class GrantKind(IntEnum):
    """The kind of objects on which something is granted, with its number in Thrift."""

    GLOBAL = 1
    DATABASE = 2
    TABLE = 3
    COLUMN = 5


class GrantRow(NamedTuple):
    """A row of a table of privileges; the columns that its kind of object lacks are null."""

    principal: str | None
    principal_type: str | None
    privilege: str | None
    created: int
    grantor: str | None
    grantor_type: str | None
    option: int
    authorizer: str | None
    catalog: str | None
    db: str | None
    table: str | None
    column: str | None


class MemberRow(NamedTuple):
    """A row of ROLE_MAP with its role."""

    role: str | None
    principal: str | None
    principal_type: str | None
    option: int
    added: int
    grantor: str | None
    grantor_type: str | None


def stored_grant(kind: GrantKind, row: tuple[Any, ...]) -> bytes | None:
    """The privilege of a row with the fields of `GrantRow`; None if the metastore fails on it."""
    own = GrantRow(*row)
    principal, grantor = principal_type(own.principal_type), principal_type(own.grantor_type)
    if principal is None or grantor is None:
        return None
    return encode(
        HIVE_OBJECT_PRIVILEGE,
        {
            "hiveObject": {
                "objectType": int(kind),
                "dbName": own.db,
                "objectName": own.table,
                "columnName": own.column,
                "catName": own.catalog,
            },
            "principalName": own.principal,
            "principalType": principal,
            "grantInfo": {
                "privilege": own.privilege,
                "createTime": own.created,
                "grantor": own.grantor,
                "grantorType": grantor,
                "grantOption": own.option != 0,
            },
            "authorizer": own.authorizer,
        },
    )


def stored_member(row: tuple[Any, ...]) -> bytes | None:
    """The membership of a row with the fields of `MemberRow`; None if the metastore fails on it."""
    own = MemberRow(*row)
    principal, grantor = principal_type(own.principal_type), principal_type(own.grantor_type)
    if principal is None or (grantor is None and own.grantor_type is not None):
        return None
    return encode(
        ROLE_PRINCIPAL_GRANT,
        {
            "roleName": own.role,
            "principalName": own.principal,
            "principalType": principal,
            "grantOption": own.option != 0,
            "grantTime": own.added,
            "grantorName": own.grantor,
            "grantorPrincipalType": grantor,
        },
    )
