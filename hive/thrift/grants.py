"""The structs of privileges and roles, with the field ids of Hive's IDL."""

from hive.thrift.types import ListOf, MapOf, Struct, boolean, i32, string, strings

PRIVILEGE_GRANT_INFO = Struct(
    "PrivilegeGrantInfo",
    (1, "privilege", string),
    (2, "createTime", i32),
    (3, "grantor", string),
    (4, "grantorType", i32),
    (5, "grantOption", boolean),
)
_GRANTS = MapOf(string, ListOf(PRIVILEGE_GRANT_INFO))
PRINCIPAL_PRIVILEGE_SET = Struct(
    "PrincipalPrivilegeSet",
    (1, "userPrivileges", _GRANTS),
    (2, "groupPrivileges", _GRANTS),
    (3, "rolePrivileges", _GRANTS),
)
HIVE_OBJECT_REF = Struct(
    "HiveObjectRef",
    (1, "objectType", i32),
    (2, "dbName", string),
    (3, "objectName", string),
    (4, "partValues", strings),
    (5, "columnName", string),
    (6, "catName", string),
)
HIVE_OBJECT_PRIVILEGE = Struct(
    "HiveObjectPrivilege",
    (1, "hiveObject", HIVE_OBJECT_REF),
    (2, "principalName", string),
    (3, "principalType", i32),
    (4, "grantInfo", PRIVILEGE_GRANT_INFO),
    (5, "authorizer", string),
)
ROLE_PRINCIPAL_GRANT = Struct(
    "RolePrincipalGrant",
    (1, "roleName", string),
    (2, "principalName", string),
    (3, "principalType", i32),
    (4, "grantOption", boolean),
    (5, "grantTime", i32),
    (6, "grantorName", string),
    (7, "grantorPrincipalType", i32),
)
