"""Grants privileges and roles, and takes them back."""

from typing import Any

from tests.differential.writers.base import Base


class Grants(Base):
    """Actions of administrators; principals are numbered as in Thrift: user, role, group."""

    def create_role(self, role: str) -> None:
        name = self.names.full(role)
        self.rpc.create_role(self.t.Role(roleName=name, createTime=0, ownerName="hive"))

    def drop_role(self, role: str) -> None:
        self.rpc.drop_role(self.names.full(role))

    def grant_role(self, role: str, principal: str, type_: int, option: bool) -> None:
        self.rpc.grant_role(
            *(self.names.full(role), self.names.full(principal), type_),
            *("hive", self.t.PrincipalType.USER, option),
        )

    def revoke_role(self, role: str, principal: str, type_: int) -> None:
        self.rpc.revoke_role(self.names.full(role), self.names.full(principal), type_)

    def grant(
        self, db: str, table: str, kind: int, principal: str, type_: int, privilege: str
    ) -> None:
        self.rpc.grant_privileges(self._bag(db, table, kind, principal, type_, privilege))

    def revoke(
        self, db: str, table: str, kind: int, principal: str, type_: int, privilege: str
    ) -> None:
        self.rpc.revoke_privileges(self._bag(db, table, kind, principal, type_, privilege))

    def _bag(
        self, db: str, table: str, kind: int, principal: str, type_: int, privilege: str
    ) -> Any:
        full_db, full = self.place(db, table)
        t = self.t
        place = t.HiveObjectRef(objectType=kind)
        if kind != t.HiveObjectType.GLOBAL:
            place.dbName, place.catName = full_db, "hive"
        if kind in (t.HiveObjectType.TABLE, t.HiveObjectType.COLUMN):
            place.objectName = full
        if kind == t.HiveObjectType.COLUMN:
            place.columnName = "id"
        info = t.PrivilegeGrantInfo(
            privilege=privilege,
            createTime=1_700_000_000,
            grantor="hive",
            grantorType=t.PrincipalType.USER,
            grantOption=privilege == "INSERT",
        )
        granted = t.HiveObjectPrivilege(
            hiveObject=place,
            principalName=self.names.full(principal),
            principalType=type_,
            grantInfo=info,
            authorizer="SQL",
        )
        return t.PrivilegeBag(privileges=[granted])
