"""Users by the names that Kerberos has for them."""

from hive.errors import RefusedLoginError


def user_of(principal: str, realm: str) -> str:
    """The user that a principal stands for, as in Hadoop without rules of its own: the first part
    of the name, for principals of the service's realm.
    """
    name, _, of_realm = principal.rpartition("@")
    user = name.partition("/")[0]
    if of_realm != realm or not user or "\\" in principal:
        raise RefusedLoginError(f"{principal!r} isn't a user of the realm {realm}")
    return user
