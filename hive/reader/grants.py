"""Reads privileges, roles and their members, in the order in which they were granted."""

from functools import cache
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Select, null, select

from hive.reader.rows.grants import GrantKind, GrantRow, MemberRow, stored_grant, stored_member
from hive.reader.snapshot import DatabaseSnapshot
from hive.schema import Version, metadata

Condition = ColumnElement[bool]


class Principal(NamedTuple):
    """A user, a role or a group, as the metastore's tables name it."""

    name: str
    type: str


class GrantPlace(NamedTuple):
    """An object on which something is granted. Unused parts are None."""

    catalog: str
    db: str
    table: str | None = None
    column: str | None = None


class _Source(NamedTuple):
    table: str
    id: str
    privilege: str


_SOURCES = {
    GrantKind.GLOBAL: _Source("GLOBAL_PRIVS", "USER_GRANT_ID", "USER_PRIV"),
    GrantKind.DATABASE: _Source("DB_PRIVS", "DB_GRANT_ID", "DB_PRIV"),
    GrantKind.TABLE: _Source("TBL_PRIVS", "TBL_GRANT_ID", "TBL_PRIV"),
    GrantKind.COLUMN: _Source("TBL_COL_PRIVS", "TBL_COLUMN_GRANT_ID", "TBL_COL_PRIV"),
}

_OTHERS = ("DC_PRIVS", "PART_PRIVS", "PART_COL_PRIVS")


def read_role_names(snapshot: DatabaseSnapshot) -> list[str]:
    """The names of all roles."""
    roles = snapshot.tables["ROLES"].c
    return [name for (name,) in snapshot.rows(select(roles.ROLE_NAME).order_by(roles.ROLE_ID))]


def read_role_members(snapshot: DatabaseSnapshot, role: str) -> list[bytes | None]:
    """The members of a role; None for those on which the metastore fails."""
    name = snapshot.tables["ROLES"].c.ROLE_NAME
    return _members(snapshot, name == role)


def read_roles_of(snapshot: DatabaseSnapshot, principal: Principal) -> list[bytes | None]:
    """The memberships of a principal; None for those on which the metastore fails."""
    members = snapshot.tables["ROLE_MAP"].c
    return _members(snapshot, *_held_by(members, principal))


def read_grants(
    snapshot: DatabaseSnapshot,
    kind: GrantKind,
    principal: Principal | None = None,
    place: GrantPlace | None = None,
) -> list[bytes | None]:
    """The privileges on objects of a kind, on all of them if no place is given; None for those on
    which the metastore fails.
    """
    source = _SOURCES[kind]
    own = snapshot.tables[source.table].c
    where: list[Condition] = [] if principal is None else _held_by(own, principal)
    if place is not None:
        where += _at(snapshot, kind, place)
    statement = _grants(snapshot.version, kind).where(*where).order_by(own[source.id])
    return [stored_grant(kind, row) for row in snapshot.rows(statement)]


def has_other_grants(snapshot: DatabaseSnapshot, principal: Principal | None) -> bool:
    """Whether there are privileges on objects of a kind that `read_grants` doesn't read."""
    for name in _OTHERS:
        own = snapshot.tables[name].c
        where = [] if principal is None else _held_by(own, principal)
        if snapshot.rows(select(own.CREATE_TIME).where(*where).limit(1)):
            return True
    return False


def _held_by(columns: Any, principal: Principal) -> list[Condition]:
    return [
        columns.PRINCIPAL_NAME == principal.name,
        columns.PRINCIPAL_TYPE == principal.type,
    ]


def _at(snapshot: DatabaseSnapshot, kind: GrantKind, place: GrantPlace) -> list[Condition]:
    dbs, tables = snapshot.tables["DBS"].c, snapshot.tables["TBLS"].c
    where: list[Condition] = [dbs.NAME == place.db, dbs.CTLG_NAME == place.catalog]
    if kind is not GrantKind.DATABASE:
        where.append(tables.TBL_NAME == place.table)
    if kind is GrantKind.COLUMN:
        where.append(snapshot.tables["TBL_COL_PRIVS"].c.COLUMN_NAME == place.column)
    return where


def _members(snapshot: DatabaseSnapshot, *where: Condition) -> list[bytes | None]:
    statement = _memberships(snapshot.version).where(*where)
    return [stored_member(row) for row in snapshot.rows(statement)]


@cache
def _memberships(version: Version) -> Select[Any]:
    tables = metadata(version).tables
    members, roles = tables["ROLE_MAP"], tables["ROLES"]
    c = members.c
    columns = (
        *(roles.c.ROLE_NAME, c.PRINCIPAL_NAME, c.PRINCIPAL_TYPE, c.GRANT_OPTION, c.ADD_TIME),
        *(c.GRANTOR, c.GRANTOR_TYPE),
    )
    assert len(columns) == len(MemberRow._fields)
    joined = select(*columns).join_from(members, roles, c.ROLE_ID == roles.c.ROLE_ID)
    return joined.order_by(c.ROLE_GRANT_ID)


@cache
def _grants(version: Version, kind: GrantKind) -> Select[Any]:
    tables, source = metadata(version).tables, _SOURCES[kind]
    own, dbs, tbls = tables[source.table], tables["DBS"], tables["TBLS"]
    c = own.c
    is_global, is_database = kind is GrantKind.GLOBAL, kind is GrantKind.DATABASE
    columns = (
        *(c.PRINCIPAL_NAME, c.PRINCIPAL_TYPE, c[source.privilege], c.CREATE_TIME),
        *(c.GRANTOR, c.GRANTOR_TYPE, c.GRANT_OPTION, c.AUTHORIZER),
        null() if is_global else dbs.c.CTLG_NAME,
        null() if is_global else dbs.c.NAME,
        null() if is_global or is_database else tbls.c.TBL_NAME,
        c.get("COLUMN_NAME", null()),
    )
    assert len(columns) == len(GrantRow._fields)
    statement = select(*columns).select_from(own)
    if is_global:
        return statement
    if is_database:
        return statement.join(dbs, c.DB_ID == dbs.c.DB_ID)
    return statement.join(tbls, c.TBL_ID == tbls.c.TBL_ID).join(dbs, tbls.c.DB_ID == dbs.c.DB_ID)
