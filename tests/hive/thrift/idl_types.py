"""Types as Hive's own interface definition and ours have them, in one form."""

from typing import Any

from hive.thrift.types import LIST, MAP, SET, STRUCT, ListOf, MapOf, Struct, Type, binary

# What tells binary from texts in thriftpy2's descriptions.
BINARY = 18


def theirs(code: int, detail: Any = None) -> Any:
    """A type of thriftpy2's description; an enum is a number with a class beside it."""
    if code == STRUCT:
        return detail.__name__
    if code in (LIST, SET):
        return code, spelled(detail)
    if code == MAP:
        return code, spelled(detail[0]), spelled(detail[1])
    return code


def spelled(type_: Any) -> Any:
    return theirs(*type_) if isinstance(type_, tuple) else theirs(type_)


def ours(type_: Type) -> Any:
    if isinstance(type_, Struct):
        return type_.name
    if isinstance(type_, ListOf):
        return type_.code, ours(type_.item)
    if isinstance(type_, MapOf):
        return MAP, ours(type_.key), ours(type_.value)
    return BINARY if type_ is binary else type_.code
