"""Calls that give privileges and roles. Grants write no event, so the database answers."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from hive.errors import InputError
from hive.reader.grants import (
    GrantPlace,
    Principal,
    has_other_grants,
    read_grants,
    read_role_members,
    read_role_names,
    read_roles_of,
)
from hive.reader.rows.grants import GrantKind
from hive.reader.snapshot import DatabaseSnapshot
from hive.thrift.binary import encode
from hive.thrift.grants import ROLE_PRINCIPAL_GRANT
from query_api.thrift.call import RelayReason
from query_api.thrift.methods import names
from query_api.thrift.methods.direct_read import DirectRead
from query_api.thrift.methods.outcome import Outcome, structs, texts
from query_api.thrift.methods.request import Arguments, CacheRequest, Understood, refuse_unknown

_USER: Final = 1
_PRINCIPAL_TYPES: Final = {_USER: "USER", 2: "ROLE", 3: "GROUP"}
_PUBLIC: Final = "public"
"""The role that every user has without a grant."""


class RoleNames(DirectRead, frozen=True):
    """The names of all roles."""

    def of(self, snapshot: DatabaseSnapshot) -> Outcome:
        return texts(read_role_names(snapshot))


class RoleMembers(DirectRead, frozen=True):
    """The users, groups and roles that have a role."""

    role: str

    def of(self, snapshot: DatabaseSnapshot) -> Outcome:
        return _whole(read_role_members(snapshot, self.role))


class RolesOf(DirectRead, frozen=True):
    """The roles of a user, a group or a role."""

    principal: Principal

    def of(self, snapshot: DatabaseSnapshot) -> Outcome:
        memberships = read_roles_of(snapshot, self.principal)
        if self.principal.type == _PRINCIPAL_TYPES[_USER]:
            memberships.append(_public(self.principal.name))
        return _whole(memberships)


class Grants(DirectRead, frozen=True):
    """The privileges on one object, or on all objects of some kinds."""

    kinds: tuple[GrantKind, ...]
    principal: Principal | None
    place: GrantPlace | None

    def of(self, snapshot: DatabaseSnapshot) -> Outcome:
        of_every_kind = len(self.kinds) > 1
        if of_every_kind and has_other_grants(snapshot, self.principal):
            return RelayReason.FORM
        grants: list[bytes | None] = []
        for kind in self.kinds:
            grants += read_grants(snapshot, kind, self.principal, self.place)
        return _whole(grants)


def get_role_names(arguments: Arguments) -> Understood:
    refuse_unknown(arguments)
    return CacheRequest(RoleNames())


def get_principals_in_role(arguments: Arguments) -> Understood:
    request = arguments["request"]
    refuse_unknown(request)
    return CacheRequest(RoleMembers(request["roleName"]))


def get_role_grants_for_principal(arguments: Arguments) -> Understood:
    request = arguments["request"]
    refuse_unknown(request)
    return CacheRequest(RolesOf(_principal(request["principal_name"], request["principal_type"])))


def list_privileges(arguments: Arguments) -> Understood:
    place = arguments["hiveObject"]
    refuse_unknown(arguments)
    refuse_unknown(place, "partValues")
    name, type_ = arguments.get("principal_name"), arguments.get("principal_type")
    if "objectType" not in place:
        return CacheRequest(Grants(tuple(GrantKind), _holder(name, type_), None))
    kind = _kind(place["objectType"])
    if kind is GrantKind.GLOBAL:
        return CacheRequest(Grants((kind,), _holder(name, type_), None))
    if "dbName" in place:
        return CacheRequest(Grants((kind,), _holder(name, type_), _place(kind, place)))
    # On all objects of a kind, a name without a type means everybody.
    holder = None if type_ is None else _holder(name, type_)
    return CacheRequest(Grants((kind,), holder, None))


def _kind(number: int) -> GrantKind:
    try:
        return GrantKind(number)
    except ValueError as error:
        raise InputError("privileges on objects that only the metastore knows") from error


def _place(kind: GrantKind, place: Mapping[str, Any]) -> GrantPlace:
    if kind is GrantKind.DATABASE:
        db = names.database_in_catalog(place)
        return GrantPlace(db.catalog, db.db)
    table = names.table_in_catalog(place, tbl="objectName")
    column = names.member(place.get("columnName")) if kind is GrantKind.COLUMN else None
    return GrantPlace(table.catalog, table.db, table.table, column)


def _principal(name: str, type_: int | None) -> Principal:
    if type_ not in _PRINCIPAL_TYPES:
        raise InputError("a principal of an unknown type")
    return Principal(name, _PRINCIPAL_TYPES[type_])


def _holder(name: str | None, type_: int | None) -> Principal | None:
    """The principal whose privileges are listed; None for everybody's."""
    return None if name is None else _principal(name, type_)


def _public(user: str) -> bytes:
    return encode(
        ROLE_PRINCIPAL_GRANT,
        {
            "roleName": _PUBLIC,
            "principalName": user,
            "principalType": _USER,
            "grantOption": False,
            "grantTime": 0,
        },
    )


def _whole(items: Sequence[bytes | None]) -> Outcome:
    """The list, unless the metastore itself fails on one of its rows."""
    known = [item for item in items if item is not None]
    return structs(known) if len(known) == len(items) else RelayReason.FORM
