"""Owners of objects, and those who hold privileges and roles."""

_TYPES = {"USER": 1, "ROLE": 2, "GROUP": 3}


def principal_type(stored: str | None) -> int | None:
    """The number of a PrincipalType in Thrift; None if none is stored."""
    return _TYPES.get((stored or "").strip().upper())
