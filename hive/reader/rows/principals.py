"""Owners."""

_TYPES = {"USER": 1, "ROLE": 2, "GROUP": 3}


def owner_type(stored: str | None) -> int | None:
    """PrincipalType as Thrift numbers it; none where none is stored."""
    return _TYPES.get((stored or "").strip().upper())
